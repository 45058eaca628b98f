// The effects of an object on others: written with its own change, delivered at least once, by the call or by the
// alarm.
import { fromText, toText } from "./plain.ts"
import type { Sql } from "./sql.ts"

export interface Entry {
  /** Entries of a lane are delivered in order, different lanes concurrently. The receiver makes a good lane. */
  readonly lane: string
  readonly kind: string
  /** Plain data, at most about 1 MiB. */
  readonly body: unknown
}

export interface Outbox {
  /** Requires the transaction whose effect it is. */
  add(entry: Entry): void
  /**
   * Delivers entries: all of the given lanes, for a caller that awaits them; otherwise the new and due ones of all
   * lanes. Never throws: the alarm retries a failed entry. A permanently rejected entry is dropped.
   */
  drain(lanes?: readonly string[]): Promise<void>
  /** The time of the next retry in milliseconds since the Unix epoch; null without entries. */
  nextAtMs(): number | null
}

export const outboxSteps = [
  `create table outbox (
    id integer primary key,
    lane text not null,
    kind text not null,
    body text not null,
    tries integer not null default 0,
    due_at integer not null
  );
  create index outbox_lane on outbox (lane, id)`,
] as const

/** The call that wrote an entry delivers it. If it does not, the alarm does after this many milliseconds. */
const graceMs = 5_000
const longestWaitMs = 300_000
const lanesAtOnce = 64

const heads = "select min(id) from outbox group by lane"
const nextText = `select min(due_at) as due_at from outbox where id in (${heads})`
const readyText = `select lane from outbox where id in (${heads}) and (tries = 0 or due_at <= ?) order by id`
const headText = "select id, kind, body, tries, due_at from outbox where lane = ? order by id limit 1"

export function createOutbox(of: {
  sql: Sql
  nowMs: () => number
  /** Idempotent for its receiver. Throws to be retried. */
  deliver: (entry: Entry) => Promise<void>
  /** True for a permanent rejection by the receiver. */
  isPermanent: (fault: unknown) => boolean
  report: (fault: unknown) => void
}): Outbox {
  const { sql } = of
  // Two concurrent deliveries of one lane could be out of order.
  const running = new Map<string, Promise<void>>()

  async function deliverLane(lane: string, isAwaited: boolean): Promise<void> {
    try {
      for (;;) {
        type Head = { id: number; kind: string; body: string; tries: number; due_at: number }
        const head = sql.row<Head>(headText, lane)
        if (head === undefined) return
        if (!isAwaited && head.tries > 0 && head.due_at > of.nowMs()) return
        try {
          await of.deliver({ lane, kind: head.kind, body: fromText(head.body) })
        } catch (fault) {
          of.report(fault)
          if (of.isPermanent(fault)) {
            // A rejected entry would block all later ones.
            of.report(new Error(`given up: ${head.kind}`))
            sql.run("delete from outbox where id = ?", head.id)
            continue
          }
          const waitMs = Math.min(1_000 * 2 ** head.tries, longestWaitMs)
          sql.run("update outbox set tries = tries + 1, due_at = ? where id = ?", of.nowMs() + waitMs, head.id)
          return
        }
        sql.run("delete from outbox where id = ?", head.id)
      }
    } finally {
      running.delete(lane)
    }
  }

  function join(lane: string, isAwaited: boolean): Promise<void> {
    const now = running.get(lane)
    if (now !== undefined) return now
    // Added before it runs, because it may end before this function returns.
    const begun = Promise.resolve().then(() => deliverLane(lane, isAwaited))
    running.set(lane, begun)
    return begun
  }

  return {
    add({ lane, kind, body }) {
      const dueAt = of.nowMs() + graceMs
      sql.run("insert into outbox (lane, kind, body, due_at) values (?, ?, ?, ?)", lane, kind, toText(body), dueAt)
    },
    async drain(lanes) {
      // A lane that is being delivered may have a new entry, so it is awaited too.
      const all = lanes ?? [
        ...sql.rows<{ lane: string }>(readyText, of.nowMs()).map(({ lane }) => lane),
        ...running.keys(),
      ]
      const waiting = [...new Set(all)]
      const next = waiting.values()
      const work = async () => {
        for (const lane of next) await join(lane, lanes !== undefined)
      }
      await Promise.all(Array.from({ length: Math.min(lanesAtOnce, waiting.length) }, work))
    },
    nextAtMs: () => sql.row<{ due_at: number | null }>(nextText)?.due_at ?? null,
  }
}
