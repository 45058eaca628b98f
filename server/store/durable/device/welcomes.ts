// The welcomes of one device, inside its object. Conversations' outboxes deliver them at least once.
import type { ConversationId, WelcomeId } from "@signet/kernel/ids"
import type { Welcomes } from "@signet/kernel/messaging/ports"
import type { WelcomeRecord } from "@signet/kernel/messaging/records"
import { decideConsume } from "@signet/kernel/messaging/welcome"
import { fromText, toText } from "../plain.ts"
import type { Sql } from "../sql.ts"

export const welcomeSteps = [
  `create table welcome (
    id text primary key, conversation_id text not null, commit_seq integer not null, status text not null,
    created_at integer not null, expires_at integer not null, size integer not null,
    welcome blob not null, consumed_with_key blob, rest text not null
  );
  create index welcome_pending on welcome (status, created_at, id);
  create index welcome_of on welcome (conversation_id, status);
  create index welcome_end on welcome (expires_at);
  -- What led to a leaf that is gone, leads nowhere: also a welcome that comes later.
  create table welcome_void (conversation_id text primary key, before_seq integer not null) without rowid`,
] as const

/** The fields that never change. */
type Rest = Omit<WelcomeRecord, "status" | "welcome" | "consumedWithKey">

interface WelcomeRow {
  status: WelcomeRecord["status"]
  welcome: Uint8Array
  consumed_with_key: Uint8Array | null
  rest: string
}

const columns = "status, welcome, consumed_with_key, rest"
const sizesText = `select id, size from welcome
where status = 'PENDING' and expires_at > ? and (created_at, id) > (?, ?) order by created_at, id limit ?`
const findText = `select ${columns} from welcome where id = ?`
const pendingText = `select ${columns} from welcome where conversation_id = ? and status = 'PENDING'
order by commit_seq desc limit 1`
const putText = `insert into welcome
  (id, conversation_id, commit_seq, status, created_at, expires_at, size, welcome, consumed_with_key, rest)
values (?, ?, ?, ?, ?, ?, ?, ?, null, ?) on conflict do nothing`
const voidText = "update welcome set status = 'VOID', welcome = x'' where status = 'PENDING'"

/** Requires a transaction, as every function here that writes. An existing or former welcome stays unchanged. */
export function putWelcome(sql: Sql, record: WelcomeRecord): void {
  const { welcome, status: _, consumedWithKey: __, ...rest } = record
  type Row = { before_seq: number }
  const gone = sql.row<Row>("select before_seq from welcome_void where conversation_id = ?", rest.conversationId)
  const isVoid = gone !== undefined && rest.commitSeq < BigInt(gone.before_seq)
  sql.run(
    putText,
    rest.id,
    rest.conversationId,
    rest.commitSeq,
    isVoid ? "VOID" : "PENDING",
    rest.createdAtMs,
    rest.expiresAtMs,
    welcome.length + rest.receipt.length + rest.proof.length,
    isVoid ? new Uint8Array() : welcome,
    toText(rest),
  )
}

export function listPending(
  sql: Sql,
  nowMs: number,
  { size, maxBytes, after }: Parameters<Welcomes["listPending"]>[2],
): WelcomeRecord[] {
  const from = after === null ? ([-1, ""] as const) : ([after.createdAtMs, after.id] as const)
  const sizes = sql.rows<{ id: WelcomeId; size: number }>(sizesText, nowMs, ...from, size)
  let total = 0
  const page = sizes.filter((row, place) => {
    total += row.size
    return place === 0 || total <= maxBytes
  })
  return page.flatMap(({ id }) => findWelcome(sql, id) ?? [])
}

export function consume(
  sql: Sql,
  id: WelcomeId,
  by: Parameters<Welcomes["consume"]>[1],
  nowMs: number,
):
  | { readonly is: "consumed" | "again"; readonly welcome: WelcomeRecord }
  | { readonly is: "NOT_FOUND" | "WELCOME_ALREADY_CONSUMED" } {
  const welcome = findWelcome(sql, id)
  const decision = decideConsume(welcome, by, nowMs)
  if (welcome === undefined || decision === "NOT_FOUND") return { is: "NOT_FOUND" }
  if (decision === "WELCOME_ALREADY_CONSUMED") return { is: decision }
  if (decision === "again") return { is: "again", welcome }
  sql.run("update welcome set status = 'CONSUMED', welcome = x'', consumed_with_key = ? where id = ?", by.key, id)
  return {
    is: "consumed",
    welcome: { ...welcome, status: "CONSUMED", consumedWithKey: by.key, welcome: new Uint8Array() },
  }
}

function findWelcome(sql: Sql, id: WelcomeId): WelcomeRecord | undefined {
  const row = sql.row<WelcomeRow>(findText, id)
  return row && welcomeOf(row)
}

export function findPending(sql: Sql, conversationId: ConversationId): WelcomeRecord | undefined {
  const row = sql.row<WelcomeRow>(pendingText, conversationId)
  return row && welcomeOf(row)
}

const welcomeOf = ({ status, welcome, consumed_with_key, rest }: WelcomeRow): WelcomeRecord => ({
  ...fromText<Rest>(rest),
  status,
  welcome,
  consumedWithKey: consumed_with_key,
})

/** A welcome that was consumed or voided. */
export type Ended = Pick<WelcomeRecord, "id" | "conversationId">

/** @returns The welcomes that this call voided. */
export const voidAll = (sql: Sql): Ended[] =>
  sql
    .rows<{ id: WelcomeId; conversation_id: ConversationId }>(`${voidText} returning id, conversation_id`)
    .map((row) => ({ id: row.id, conversationId: row.conversation_id }))

/** The commit with that sequence number removed the device's leaf, so earlier welcomes are void. Idempotent. */
export function voidBefore(sql: Sql, conversationId: ConversationId, seq: bigint): void {
  sql.run(`${voidText} and conversation_id = ? and commit_seq < ?`, conversationId, seq)
  sql.run(
    `insert into welcome_void (conversation_id, before_seq) values (?, ?)
    on conflict (conversation_id) do update set before_seq = max(before_seq, excluded.before_seq)`,
    conversationId,
    seq,
  )
}

export const forgetWelcomes = (sql: Sql, nowMs: number): void =>
  sql.run("delete from welcome where expires_at <= ?", nowMs)

export const nextWelcomeEnd = (sql: Sql): number | null =>
  sql.row<{ at: number | null }>("select min(expires_at) as at from welcome")?.at ?? null
