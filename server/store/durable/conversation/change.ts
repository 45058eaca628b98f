// What changes of a conversation besides by a commit: decided elsewhere on a snapshot, compared and swapped here.
import type { DirectiveDecision, LeaseDecision } from "@signet/kernel/messaging/directive"
import type { Conversation } from "@signet/kernel/messaging/records"

export type Change = Partial<Pick<Conversation, "status" | "directives" | "forkReports">>

/** What the decision writes; null for nothing. */
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
      return { directives: directives.map((one) => (one.id === decision.directive.id ? decision.directive : one)) }
    default:
      return null
  }
}
