import type { Reason } from "../errors.ts"

/** Why something may not be made or changed like this. */
export interface Problem {
  readonly reason: Reason
  /** The field of the request, by its proto path. */
  readonly field: string
  /** For the caller, where the field alone does not say it. */
  readonly message?: string
}

export const invalid = (field: string, message?: string): Problem => ({
  reason: "INVALID_FIELD",
  field,
  ...(message === undefined ? {} : { message }),
})
