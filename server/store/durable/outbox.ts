// What an object has others do: written with its own change, delivered at least once, by the call or by the alarm.
import { fromText, toText } from "./plain.ts"
import type { Sql } from "./sql.ts"

export interface Entry {
  /** Entries of a lane go one after the other, as they came. Of different lanes, at once. Whom it is for makes a good one. */
  readonly lane: string
  readonly kind: string
  /** Plain data, at most about 1 MiB. */
  readonly body: unknown
}

export interface Outbox {
  /** Inside the transaction whose effect it is. */
  add(entry: Entry): void
  /**
   * Delivers what is there: of these lanes all, for whoever waits for it; without them of all lanes what is new or due
   * again. Never throws: what could not be delivered stays, and the alarm tries. What is refused for good goes.
   */
  drain(lanes?: readonly string[]): Promise<void>
  /** When the alarm is to try; null when there is nothing. Milliseconds since the Unix epoch. */
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

/** The call that wrote an entry delivers it. When it does not come to that, the alarm does after this. */
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
  /** Again is no error for whom it is for. Throws when it must be tried again. */
  deliver: (entry: Entry) => Promise<void>
  /** Whether it was heard and will not be taken, however often it is said. */
  isForGood: (fault: unknown) => boolean
  report: (fault: unknown) => void
}): Outbox {
  const { sql } = of
  // Two deliveries of one lane at once could come in the wrong order.
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
          if (of.isForGood(fault)) {
            // It would keep what comes after it from ever being heard.
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
    // In the map before it runs: it may be over before this returns.
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
      // One that is being delivered has nothing that is new, or has: either way it is waited for.
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
