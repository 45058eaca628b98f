import { CanonicalError } from "@signet/canonical/errors"
import { MessagingError, type MessagingReason } from "./errors.ts"
import { type EngineReason, EngineRefused } from "./mls.ts"

/** Reasons of the engine that are the app's to know, by the same name or another. */
const told: Partial<Record<EngineReason, MessagingReason>> = {
  ENGINE_UNSAFE: "ENGINE_UNSAFE",
  STATE_NEWER_VERSION: "STATE_NEWER_VERSION",
  STATE_TAMPERED: "STATE_TAMPERED",
}

/** Does the work; what engine and signed bytes refuse in it becomes one of the messenger's own reasons. */
export async function refusingAs<T>(reason: MessagingReason, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof CanonicalError || cause instanceof EngineRefused)) throw cause
    const known = cause instanceof EngineRefused ? told[cause.reason] : undefined
    throw new MessagingError(known ?? reason, cause.message, { cause })
  }
}
