// Denials as events: one by one while they are few, and told by their number when they are many.
import { type Reason, refusals } from "@signet/kernel/errors"
import type { Deps } from "./deps.ts"

/**
 * Whether a denial of this caller is written down now, and what it says besides itself. A caller who is let in may be
 * denied without end, and the audit is for ever.
 */
export function denialOf(
  { denials }: Pick<Deps, "denials">,
  caller: string,
  nowMs: number,
): { readonly target: { readonly type: string; readonly id: string } | null } | undefined {
  const { isWritten, unwritten } = denials.take(caller, nowMs)
  if (!isWritten) return undefined
  return { target: unwritten === 0 ? null : { type: "denials_not_written", id: String(unwritten) } }
}

export const isReason = (value: unknown): value is Reason => typeof value === "string" && Object.hasOwn(refusals, value)
