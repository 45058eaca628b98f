import { CanonicalError } from "@signet/canonical/errors"
import { MessagingError, type MessagingReason } from "./errors.ts"
import { MlsError, type MlsReason } from "./mls.ts"

/** Engine reasons that the app gets unchanged. */
const unchanged: Partial<Record<MlsReason, MessagingReason>> = {
  ENGINE_UNSAFE: "ENGINE_UNSAFE",
  STATE_NEWER_VERSION: "STATE_NEWER_VERSION",
  STATE_TAMPERED: "STATE_TAMPERED",
}

/**
 * Runs the work. An error of the MLS engine or of canonical bytes is thrown as a MessagingError with `reason`, except
 * for the engine reasons above.
 */
export async function rethrowAs<T>(reason: MessagingReason, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof CanonicalError || cause instanceof MlsError)) throw cause
    const own = cause instanceof MlsError ? unchanged[cause.reason] : undefined
    throw new MessagingError(own ?? reason, cause.message, { cause })
  }
}
