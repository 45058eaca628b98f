// The failures of a core as typed facts of the contract.
import { create } from "@bufbuild/protobuf"
import { ClientFailure_Kind, ClientFailureSchema } from "@signet/proto/client/v1/identity_service"
import { CoreError } from "../../core/messaging/remote/core.ts"
import { EngineError } from "./values.ts"

export { CoreError }

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
