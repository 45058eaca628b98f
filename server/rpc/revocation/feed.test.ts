import type { LoggedRevocation } from "@signet/kernel/revocation/entry"
import type { RevocationLog } from "@signet/kernel/revocation/ports"
import { expect, test } from "vitest"
import { createRevocationFeed } from "./feed.ts"

/** A feed of a log that gives at most two entries at once. The clock stands still until the test moves it. */
function opened(size = 0) {
  const now = { ms: 10_000 }
  const entryAt = (seq: number): LoggedRevocation => ({
    ...{ kind: "SESSION", key: `ses_${seq}`, seq, expiresAtMs: 1_000_000 },
  })
  const state = { name: "log_1", entries: [] as LoggedRevocation[], isPending: false }
  const grow = (count: number) => {
    for (let i = 0; i < count; i++) state.entries.push(entryAt(state.entries.length + 1))
  }
  grow(size)
  const log: RevocationLog = {
    sequence: async () => 0,
    async read({ after, limit }) {
      const later = state.entries.filter(({ seq }) => seq > after)
      const entries = later.slice(0, Math.min(limit, 2))
      const head = state.entries.length
      const to = entries.length < later.length ? (entries.at(-1)?.seq ?? head) : head
      return { log: state.name, head, entries, to, isPending: state.isPending }
    },
  }
  const feed = createRevocationFeed({
    log,
    clock: { nowMs: () => now.ms },
    issuer: "https://auth.example",
    announce() {},
  })
  const seqsAfter = async (seq: number) => (await feed.after(seq)).entries.map((entry) => entry.seq)
  return { now, state, grow, feed, seqsAfter }
}

test("the end of the log is read to its head, however many entries are new", async () => {
  const { feed, grow, seqsAfter } = opened(1)
  await feed.look()
  grow(5)
  await feed.look()
  expect(await seqsAfter(1)).toEqual([2, 3, 4, 5, 6])
})

test.each([
  ["another log", "log_2", 5],
  ["an earlier state of the log", "log_1", 3],
])("no entry in memory is from before %s", async (_, name, size) => {
  const { feed, state, grow } = opened(1)
  await feed.look()
  grow(4)
  await feed.look()
  state.name = name
  state.entries = state.entries.slice(0, size).map((entry) => ({ ...entry, key: `restored_${entry.seq}` }))
  await feed.look()
  const { log, head, entries } = await feed.after(1)
  expect([log, head]).toEqual([name, size])
  expect(entries.map(({ key }) => key)).toEqual(["restored_2", "restored_3"])
})

test("a statement from the log is as of now, unless an entry has no sequence number yet", async () => {
  const { feed, state, now } = opened(3)
  await feed.look()
  now.ms += 500
  expect((await feed.after(0)).asOfMs).toBe(10_500)
  state.isPending = true
  expect((await feed.after(0)).asOfMs).toBe(10_000)
  await feed.look()
  expect((await feed.after(3)).asOfMs).toBe(10_000)
})

test("a reader that is ahead of this process gets the head that another process has announced", async () => {
  const { feed, grow } = opened(1)
  await feed.look()
  grow(2)
  expect((await feed.after(3)).head).toBe(3)
})

test("a call waits while the log ends where it read, and its caller waits", async () => {
  const { feed, grow } = opened(1)
  const abort = new AbortController()
  await feed.look()
  await feed.grown(0, abort.signal)
  let hasGrown = false
  const waiting = feed.grown(1, abort.signal).then(() => {
    hasGrown = true
  })
  await feed.look()
  expect(hasGrown).toBe(false)
  grow(1)
  await feed.look()
  await waiting
  const left = feed.grown(2, abort.signal)
  abort.abort()
  await left
  await feed.grown(2, abort.signal)
})
