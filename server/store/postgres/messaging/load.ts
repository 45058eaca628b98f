// Loads a conversation with its roster in one statement, so that both are from one snapshot.
import type { ConversationId } from "@signet/kernel/ids"
import type { Conversation } from "@signet/kernel/messaging/records"
import { type Database, run } from "../sql.ts"
import {
  type ConversationRow,
  changedValues,
  conversationColumns,
  conversationOf,
  rosterColumn,
  updateText,
  type WithRoster,
} from "./conversation-rows.ts"
import { joinGate, refuseIfExists } from "./moving/gates.ts"

const findText = `select ${conversationColumns()}, ${rosterColumn} from conversation where id = $1`
const lockText = `select 1 from conversation ${joinGate} where id = $1 for update of conversation for share of gate`

/**
 * Locks the conversation, then reads it in a second statement, which sees the changes that the first waited for.
 *
 * @throws Refused PLACE_HELD
 */
export async function loadLocked(trx: Database, id: ConversationId): Promise<Conversation | undefined> {
  const locked = await run(trx, lockText, [id])
  if (locked.length === 0) await refuseIfExists(trx, "conversation", id)
  const [row] = await run<ConversationRow & WithRoster>(trx, findText, [id])
  return row && conversationOf(row)
}

/** Writes the changing values of a conversation, except its roster. */
export async function update(trx: Database, conversation: Conversation): Promise<void> {
  await run(trx, updateText, changedValues(conversation))
}
