import type { MessageInitShape } from "@bufbuild/protobuf"
import { ConnectError } from "@connectrpc/connect"
import { CanonicalError } from "@signet/canonical/errors"
import { type ClientFailureSchema, ClientFailure_Kind as Kind } from "@signet/proto/client/v1/identity_service"
import { signetErrorOf } from "../../auth-calls.ts"
import { failureOf } from "../../errors.ts"
import { isSecretBoxError } from "../../secret-box.ts"
import { isMessagingError } from "../errors.ts"

type Facts = MessageInitShape<typeof ClientFailureSchema>

/** The typed failure of an error of the clients; undefined for another error. */
export function clientFailureFrom(error: unknown): Facts | undefined {
  if (isMessagingError(error)) {
    const causeCode = error.cause instanceof CanonicalError ? error.cause.code : ""
    return { kind: Kind.MESSAGING, reason: error.reason, message: error.message, causeCode }
  }
  if (isSecretBoxError(error)) return { kind: Kind.SECRET_BOX, reason: error.reason, message: error.message }
  if (failureOf(error) === undefined && !(error instanceof ConnectError)) return undefined
  const { reason, message, code, metadata, retryAfterMs } = signetErrorOf(error)
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs: BigInt(Math.ceil(retryAfterMs)) }
  return { kind: Kind.SIGNET, reason, message, code, metadata: { ...metadata }, ...wait }
}
