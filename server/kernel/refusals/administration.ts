import type { Refusal } from "./refusal.ts"

/** Refusals of administration. */
export const administrationRefusals = {
  ALREADY_EXISTS: { code: "already_exists", status: 409, message: "the object already exists" },
  STATE_CONFLICT: {
    code: "failed_precondition",
    status: 409,
    message: "the object's state does not allow this operation",
  },
  IN_USE: {
    code: "failed_precondition",
    status: 409,
    message: "another object still uses this one: remove that first",
  },
  OUTPUT_ONLY_FIELD: {
    code: "invalid_argument",
    status: 400,
    message: "only the service sets this field, or it cannot change: omit it",
  },
  SNAPSHOT_OUTDATED: {
    code: "aborted",
    status: 409,
    message: "permissions changed after this version: refresh the access token",
  },
  GRANT_LIMIT: {
    code: "failed_precondition",
    status: 409,
    message: "the principal has reached the limit of grants in this app: revoke one first",
  },
  SNAPSHOT_TOO_LARGE: {
    code: "resource_exhausted",
    status: 507,
    message: "the permission snapshot exceeds the maximum size: reduce the principal's roles",
  },
  ETAG_MISMATCH: {
    code: "aborted",
    status: 409,
    message: "the record has changed since it was read: read it again, then apply the change",
  },
} as const satisfies Record<string, Refusal>
