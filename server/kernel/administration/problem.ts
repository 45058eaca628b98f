import type { Reason } from "../errors.ts"

/** Why a request to create or change a record is refused. */
export interface Problem {
  readonly reason: Reason
  /** Proto path of the field in the request. */
  readonly field: string
  /** Explanation for the caller, where the field alone is not enough. */
  readonly message?: string
}

export const invalid = (field: string, message?: string): Problem => ({
  reason: "INVALID_FIELD",
  field,
  ...(message === undefined ? {} : { message }),
})
