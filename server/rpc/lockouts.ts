import type { HandlerContext } from "@connectrpc/connect"
import type { LockoutName } from "@signet/kernel/limits/policy"
import { auditEvent } from "./audit.ts"
import type { Deps } from "./deps.ts"

/**
 * Writes down that a lock stands, once in each process that meets it. Who is locked out is not told: whom a stranger
 * guesses at need not be anybody.
 */
export function auditLockouts(
  deps: Pick<Deps, "store" | "clock" | "random">,
  onFault: (fault: unknown) => void,
): (context: HandlerContext, of: LockoutName) => void {
  return (context, of) => {
    const reason = of === "client" ? "RATE_LIMITED" : "LOCKED_OUT"
    const target = { type: "lockout", id: of }
    const facts = { kind: "ratelimit.locked_out", outcome: "DENIED", reason, target } as const
    const event = auditEvent(deps, context, deps.clock.nowMs(), facts)
    deps.store.transaction((tx) => tx.audit.append(event)).catch(onFault)
  }
}
