// Changes of a conversation outside its log. They are decided elsewhere on a snapshot, and written here by
// compare-and-swap.
import { type DirectiveDecision, type LeaseDecision, withLeased } from "@signet/kernel/messaging/directive"
import type { Conversation } from "@signet/kernel/messaging/records"

export type Change = Partial<Pick<Conversation, "status" | "directives" | "forkReports">>

/** The change that a decision writes; null for none. */
export function changeOf(
  { directives }: Pick<Conversation, "directives">,
  decision: DirectiveDecision | LeaseDecision,
): Change | null {
  switch (decision.is) {
    case "close":
      return { status: "CLOSED" }
    case "issue":
      return { directives: [...directives, decision.directive] }
    case "lease":
      return { directives: withLeased(directives, decision.directive) }
    default:
      return null
  }
}
