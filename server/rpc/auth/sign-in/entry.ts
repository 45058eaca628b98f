import type { HandlerContext } from "@connectrpc/connect"
import type { Vouched } from "@signet/kernel/identity/provider-ports"
import type { Tx } from "@signet/kernel/ports"
import type { App, ProviderClient } from "@signet/kernel/records"
import type { Deps } from "../../deps.ts"
import type { SignInRequest } from "./request.ts"

/** A sign-in that a provider has vouched for. */
export interface VouchedSignIn {
  deps: Deps
  context: HandlerContext
  request: SignInRequest
  app: App
  client: ProviderClient
  vouched: Vouched
  audiences: readonly [string, ...string[]]
  nowMs: number
}

/** A vouched sign-in inside its transaction. */
export interface Entry extends VouchedSignIn {
  tx: Tx
}
