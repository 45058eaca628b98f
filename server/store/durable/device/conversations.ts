// The conversations of one device, inside its object, as the conversations' notices report them. And the idempotency
// keys of the device's calls, by which a retry finds the group or attachment that it created.
import type { AttachmentId, ConversationId } from "@signet/kernel/ids"
import { equalBytes } from "@signet/kernel/messaging/bytes"
import type { WelcomeRecord } from "@signet/kernel/messaging/records"
import type { DeviceNotice } from "../conversation/notices.ts"
import type { Sql } from "../sql.ts"
import { putWelcome, voidBefore } from "./welcomes.ts"

export const deviceConversationSteps = [
  `create table conversation (
    id text primary key,
    created_at integer not null,
    revision integer not null,
    is_member integer not null,
    is_closed integer not null
  ) without rowid;
  create index conversation_newest on conversation (created_at, id) where is_member = 1;
  create table group_key (
    key blob primary key,
    request_hash blob not null,
    conversation_id text not null
  ) without rowid;
  create table attachment_key (key blob primary key, attachment_id text not null) without rowid`,
] as const

/** A conversation in an index. */
export interface Indexed {
  readonly id: ConversationId
  readonly createdAtMs: number
}

interface IndexRow {
  id: ConversationId
  created_at: number
}

const tellText = `insert into conversation (id, created_at, revision, is_member, is_closed) values (?, ?, ?, ?, ?)
on conflict (id) do update set revision = excluded.revision, is_member = excluded.is_member,
  is_closed = excluded.is_closed where revision < excluded.revision`
const newestText = `select id, created_at from conversation where is_member = 1 and (created_at, id) < (?, ?)
order by created_at desc, id desc limit ?`
const byIdText = "select id, created_at from conversation where is_member = 1 and id > ? order by id limit ?"
const openText = "select id from conversation where is_member = 1 and is_closed = 0 order by id"

/** Requires a transaction. Idempotent; an outdated notice changes nothing. */
export function applyNotice(sql: Sql, notice: DeviceNotice, welcome: WelcomeRecord | undefined): void {
  const { conversationId, createdAtMs, revision, isMember, isClosed, voidBeforeSeq } = notice
  sql.run(tellText, conversationId, createdAtMs, revision, isMember, isClosed)
  if (voidBeforeSeq !== null) voidBefore(sql, conversationId, voidBeforeSeq)
  if (welcome !== undefined) putWelcome(sql, welcome)
}

/** The newest conversations, from before the given one. */
export function newestConversations(
  sql: Sql,
  { size, before }: { readonly size: number; readonly before: Indexed | null },
): readonly Indexed[] {
  const from = [before?.createdAtMs ?? Number.MAX_SAFE_INTEGER, before?.id ?? ""] as const
  return sql.rows<IndexRow>(newestText, ...from, size).map(indexed)
}

export function conversationsById(
  sql: Sql,
  { size, after }: { readonly size: number; readonly after: ConversationId | null },
): readonly Indexed[] {
  return sql.rows<IndexRow>(byIdText, after ?? "", size).map(indexed)
}

const indexed = ({ id, created_at }: IndexRow): Indexed => ({ id, createdAtMs: created_at })

/** The conversations that are not closed. */
export const openConversations = (sql: Sql): readonly ConversationId[] =>
  sql.rows<{ id: ConversationId }>(openText).map(({ id }) => id)

/** Those of these conversations in which the device has no leaf. */
export const withoutLeaf = (sql: Sql, ids: readonly ConversationId[]): readonly ConversationId[] =>
  ids.filter((id) => sql.row("select 1 from conversation where id = ? and is_member = 1", id) === undefined)

/** The conversation that a call with this key creates or created; "mismatch" if that call requested another one. */
export function groupOfKey(
  sql: Sql,
  key: Uint8Array,
  requestHash: Uint8Array,
): ConversationId | "mismatch" | undefined {
  type Row = { request_hash: Uint8Array; conversation_id: ConversationId }
  const row = sql.row<Row>("select request_hash, conversation_id from group_key where key = ?", key)
  if (row === undefined) return undefined
  return equalBytes(row.request_hash, requestHash) ? row.conversation_id : "mismatch"
}

/**
 * Requires a transaction. Assigns the key to the conversation, unless it is in use. @returns The key's conversation.
 */
export function takeGroupKey(
  sql: Sql,
  key: Uint8Array,
  requestHash: Uint8Array,
  id: ConversationId,
): ConversationId | "mismatch" {
  const there = groupOfKey(sql, key, requestHash)
  if (there !== undefined) return there
  sql.run("insert into group_key (key, request_hash, conversation_id) values (?, ?, ?)", key, requestHash, id)
  return id
}

/** Requires a transaction. Assigns the key to the attachment, unless it is in use. @returns The key's attachment. */
export function takeAttachmentKey(sql: Sql, key: Uint8Array, id: AttachmentId): AttachmentId {
  type Row = { attachment_id: AttachmentId }
  const row = sql.row<Row>("select attachment_id from attachment_key where key = ?", key)
  if (row !== undefined) return row.attachment_id
  sql.run("insert into attachment_key (key, attachment_id) values (?, ?)", key, id)
  return id
}

/** The attachment was deleted, so its key may name another one. Idempotent. */
export const freeAttachmentKey = (sql: Sql, key: Uint8Array, id: AttachmentId): void =>
  sql.run("delete from attachment_key where key = ? and attachment_id = ?", key, id)
