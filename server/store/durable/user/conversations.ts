// The conversations of one user, inside its object: those that its devices are members of, and new ones that were
// created with it.
import type { ConversationId } from "@signet/kernel/ids"
import type { UserNotice } from "../conversation/notices.ts"
import type { Indexed } from "../device/conversations.ts"
import type { Sql } from "../sql.ts"

export const userConversationSteps = [
  `create table conversation (
    id text primary key,
    created_at integer not null,
    revision integer not null,
    is_member integer not null,
    is_asked integer not null
  ) without rowid;
  create index conversation_asked on conversation (created_at, id) where is_asked = 1;
  create index conversation_counted on conversation (id) where is_asked = 1 or is_member = 1`,
  "create index conversation_joined on conversation (created_at, id) where is_member = 1",
] as const

interface IndexRow {
  id: ConversationId
  created_at: number
}

const tellText = `insert into conversation (id, created_at, revision, is_member, is_asked) values (?, ?, ?, ?, ?)
on conflict (id) do update set revision = excluded.revision, is_member = excluded.is_member,
  is_asked = excluded.is_asked where revision < excluded.revision`
const newestText = (where: string) => `select id, created_at from conversation
where ${where} = 1 and (created_at, id) < (?, ?) order by created_at desc, id desc limit ?`
const byIdText = "select id, created_at from conversation where is_asked = 1 and id > ? order by id limit ?"
const countText = `select count(*) as count from (
  select 1 from conversation where is_asked = 1 or is_member = 1 limit ?)`

/** Requires a transaction. Idempotent; an outdated notice changes nothing. */
export function tellUserConversation(sql: Sql, notice: UserNotice): void {
  const { conversationId, createdAtMs, revision, isMember, isAsked } = notice
  sql.run(tellText, conversationId, createdAtMs, revision, isMember, isAsked)
}

/** The newest conversations that were created with the user, from before the given one. */
export const newestAsked = (sql: Sql, page: NewestPage): readonly Indexed[] => newest(sql, "is_asked", page)

/** As `newestAsked`, for those in which the user has a leaf. */
export const newestJoined = (sql: Sql, page: NewestPage): readonly Indexed[] => newest(sql, "is_member", page)

interface NewestPage {
  readonly size: number
  readonly before: Indexed | null
}

function newest(sql: Sql, where: "is_asked" | "is_member", { size, before }: NewestPage): readonly Indexed[] {
  const from = [before?.createdAtMs ?? Number.MAX_SAFE_INTEGER, before?.id ?? ""] as const
  return sql.rows<IndexRow>(newestText(where), ...from, size).map(indexed)
}

export function askedById(
  sql: Sql,
  { size, after }: { readonly size: number; readonly after: ConversationId | null },
): readonly Indexed[] {
  return sql.rows<IndexRow>(byIdText, after ?? "", size).map(indexed)
}

const indexed = ({ id, created_at }: IndexRow): Indexed => ({ id, createdAtMs: created_at })

/** The number of conversations that the user is in or that were created with it, counted up to `most`. */
export const countConversations = (sql: Sql, most: number): number =>
  sql.row<{ count: number }>(countText, most)?.count ?? 0
