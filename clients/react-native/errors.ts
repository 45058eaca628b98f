import { ClientFailure_Kind } from "@signet/proto/client/v1/identity_service"
import { CoreError } from "../core/messaging/remote/core.ts"
import { toMessengerError } from "../core/messaging/remote/errors.ts"

/** The error of a rejection: SignetError, MessagingError, SecretBoxError, and CoreError for a failure of the native side. */
export function toClientError(cause: unknown): unknown {
  if (cause instanceof CoreError && cause.failure.kind === ClientFailure_Kind.HOST) return cause
  return toMessengerError(cause)
}
