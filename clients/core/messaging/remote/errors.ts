import type { Code } from "@connectrpc/connect"
import { CanonicalError, canonicalCodes } from "@signet/canonical/errors"
import { type ClientFailure, ClientFailure_Kind as Kind } from "@signet/proto/client/v1/identity_service"
import { type FailureReason, SignetError } from "../../errors.ts"
import { SecretBoxError, secretBoxReasons } from "../../secret-box.ts"
import { MessagingError, messagingReasons } from "../errors.ts"
import { CoreError } from "./core.ts"

/** The error that the messenger throws for a rejection of a core: of the same class and reason as in this VM. */
export const toMessengerError = (cause: unknown): unknown =>
  cause instanceof CoreError ? errorOf(cause.failure) : cause

/** The error of a failed call or of an event. */
export function errorOf(failure: ClientFailure | undefined): Error {
  const { kind, reason = "", message = "the core names no failure", causeCode = "" } = failure ?? {}
  switch (kind) {
    case Kind.SIGNET: {
      const { code, metadata, retryAfterMs } = failure ?? {}
      const wait = retryAfterMs === undefined ? {} : { retryAfterMs: Number(retryAfterMs) }
      // The list of reasons is open: a later service may send others.
      const given = { ...(code ? { code: code as Code } : {}), ...(metadata && { metadata }), ...wait }
      return new SignetError(reason as FailureReason, message, given)
    }
    case Kind.MESSAGING: {
      const known = messagingReasons.find((one) => one === reason)
      const code = canonicalCodes.find((one) => one === causeCode)
      const options = code === undefined ? {} : { cause: new CanonicalError(code) }
      return known === undefined ? new Error(message) : new MessagingError(known, message, options)
    }
    case Kind.SECRET_BOX: {
      const known = secretBoxReasons.find((one) => one === reason)
      return known === undefined ? new Error(message) : new SecretBoxError(known, message)
    }
    default:
      return reason === "INVALID_ARGUMENT" ? new RangeError(message) : new Error(message)
  }
}
