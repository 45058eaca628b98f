import type { Refusal } from "./refusal.ts"

/** Refusals of any request: its form, its limits, and the service itself. */
export const requestRefusals = {
  MALFORMED_REQUEST: { code: "invalid_argument", status: 400, message: "the request is malformed" },
  UNKNOWN_FIELD: { code: "invalid_argument", status: 400, message: "the request has an unknown field" },
  DUPLICATE_FIELD: { code: "invalid_argument", status: 400, message: "a field occurs twice in the request" },
  INVALID_FIELD: { code: "invalid_argument", status: 400, message: "a field has an invalid value" },
  FIELD_CONFLICT: {
    code: "invalid_argument",
    status: 400,
    message: "the path and the body have different values for a field",
  },
  NESTING_TOO_DEEP: { code: "invalid_argument", status: 400, message: "the request is nested deeper than 32 levels" },
  BODY_TOO_LARGE: { code: "resource_exhausted", status: 413, message: "the request exceeds the size limit" },
  UNSUPPORTED_MEDIA_TYPE: { code: "invalid_argument", status: 415, message: "the content type is not supported here" },
  METHOD_UNKNOWN: { code: "unimplemented", status: 404, message: "the method or route does not exist" },
  NOT_FOUND: { code: "not_found", status: 404, message: "not found" },
  RATE_LIMITED: { code: "resource_exhausted", status: 429, message: "too many requests: try again later" },
  DEADLINE_EXCEEDED: { code: "deadline_exceeded", status: 504, message: "the deadline has passed" },
  CANCELED: { code: "canceled", status: 499, message: "the call was canceled" },
  UNAVAILABLE: { code: "unavailable", status: 503, message: "the service is temporarily unavailable: try again later" },
  INTERNAL: { code: "internal", status: 500, message: "internal error" },
} as const satisfies Record<string, Refusal>
