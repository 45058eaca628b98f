// The typed failure of a call. Its message has no secret: an unexpected error is named by its class only.
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import {
  type ClientFailure,
  ClientFailureSchema,
  ClientFailure_Kind as Kind,
} from "@signet/proto/client/v1/identity_service"
import { clientFailureFrom } from "../../core/messaging/remote/failure.ts"
import { HostError, log } from "./host.ts"

/** A request that the core does not accept. Its message names the field and the rule. */
export class ArgumentError extends Error {
  override readonly name = "ArgumentError"
  readonly reason: "INVALID_ARGUMENT" | "UNKNOWN_METHOD"

  constructor(message: string, reason: ArgumentError["reason"] = "INVALID_ARGUMENT") {
    super(message)
    this.reason = reason
  }
}

export const failureFrom = (error: unknown): ClientFailure => create(ClientFailureSchema, factsOf(error))

function factsOf(error: unknown): MessageInitShape<typeof ClientFailureSchema> {
  if (error instanceof ArgumentError) return named(Kind.INTERNAL, error)
  if (error instanceof HostError) return named(Kind.HOST, error)
  const known = clientFailureFrom(error)
  if (known !== undefined) return known
  // Arguments are checked where they are used. These messages name the field and the rule, never a value.
  if (error instanceof RangeError && argumentMessage.test(error.message)) {
    return { kind: Kind.INTERNAL, reason: "INVALID_ARGUMENT", message: error.message }
  }
  const name = error instanceof Error ? error.name : typeof error
  log(3, `a call failed with ${name}`)
  return { kind: Kind.INTERNAL, reason: "INTERNAL", message: `the core failed with ${name}` }
}

const argumentMessage = /^(not an? |one's own code |passphrase is empty|(memoryKiB|passes|lanes) is not )/

const named = (kind: Kind, { reason, message }: { readonly reason: string; readonly message: string }) => ({
  kind,
  reason,
  message,
})
