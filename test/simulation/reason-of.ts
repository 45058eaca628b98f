import { failureOf } from "../../clients/core/errors.ts"
import { isMessagingError } from "../../clients/core/messaging/errors.ts"

/** The reason of a failed call; the text of an error without one. */
export const reasonOf = (error: unknown): string =>
  isMessagingError(error) ? error.reason : (failureOf(error)?.reason ?? String(error))
