/** A status code by its Connect name (https://connectrpc.com/docs/protocol#error-codes). */
export type StatusCode =
  | "canceled"
  | "invalid_argument"
  | "deadline_exceeded"
  | "not_found"
  | "already_exists"
  | "permission_denied"
  | "resource_exhausted"
  | "failed_precondition"
  | "aborted"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "unauthenticated"

export interface Refusal {
  readonly code: StatusCode
  /** HTTP status over REST. Connect applies its own mapping. */
  readonly status: number
  /** Safe to show to the caller: contains no secret and nothing of another tenant. */
  readonly message: string
}
