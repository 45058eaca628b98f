// The failures of a core as typed facts of the contract.
import { create } from "@bufbuild/protobuf"
import { type ClientFailure, ClientFailure_Kind, ClientFailureSchema } from "@signet/proto/client/v1/identity_service"
import { EngineError } from "./values.ts"

/** A failed call. */
export class CoreError extends Error {
  override readonly name = "CoreError"
  readonly failure: ClientFailure
  get reason(): string {
    return this.failure.reason
  }

  constructor(failure: ClientFailure) {
    super(failure.message)
    this.failure = failure
  }
}

const facts = (kind: ClientFailure_Kind, reason: string, message: string): CoreError =>
  new CoreError(create(ClientFailureSchema, { kind, reason, message }))

export const closed = facts(
  ClientFailure_Kind.MESSAGING,
  "CLOSED",
  "the core was closed, or has failed: open another one",
)

/** The failure of the calls that an engine has not answered when it failed. */
export const internal = (error: unknown): CoreError =>
  facts(ClientFailure_Kind.INTERNAL, "INTERNAL", error instanceof EngineError ? error.message : "the engine failed")
