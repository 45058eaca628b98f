import type { AppendDecision } from "@signet/kernel/messaging/append"
import type { Conversation } from "@signet/kernel/messaging/records"
import type { VerifiedAppend, VerifiedCommit } from "@signet/kernel/messaging/verified"

/** An accepted commit, with what its conversation was before it. */
export interface CommitWrite {
  before: Conversation
  after: Conversation
  append: VerifiedAppend
  commit: VerifiedCommit
  decision: Extract<AppendDecision, { is: "append" }>
  receipt: Uint8Array
}
