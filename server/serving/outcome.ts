import { ConnectError } from "@connectrpc/connect"
import type { Reason } from "@signet/kernel/errors"
import { reasonOf } from "./errors.ts"

/** The outcome of a call, from a closed list: for logs, spans and metrics. */
export function outcomeOf(thrown: unknown): Reason | "OK" {
  if (thrown === undefined) return "OK"
  return (thrown instanceof ConnectError ? reasonOf(thrown) : undefined) ?? "INTERNAL"
}
