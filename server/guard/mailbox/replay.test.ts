import { CompiledQuery } from "kysely"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../test/support/postgres.ts"
import { createMemoryReplay, type ReplayStore } from "./replay.ts"
import { createSqlReplay, replayTable, type SqlReplay } from "./replay-sql.ts"

const clock = { ms: 1_700_000_000_000, nowMs: () => clock.ms }
const claim = (holder: string, leaseMs = 60_000) => ({
  holder,
  leaseEndsAtMs: clock.ms + leaseMs,
  forgetAtMs: clock.ms + 600_000,
})
let last = 0
const newKey = () => `mailbox sender ${++last}`

function suite(store: () => ReplayStore): void {
  test("grants an envelope to one holder until it is finished", async () => {
    const key = newKey()
    expect(await store().isDone(key)).toBe(false)
    expect(await store().claim(key, claim("a"))).toBe("claimed")
    expect(await store().claim(key, claim("b"))).toBe("busy")
    expect(await store().isDone(key)).toBe(false)
    await store().finish(key)
    expect(await store().claim(key, claim("b"))).toBe("done")
    expect(await store().isDone(key)).toBe(true)
    clock.ms += 60_001
    expect(await store().claim(key, claim("b"))).toBe("done")
  })

  test("grants it to the next holder after the lease", async () => {
    const key = newKey()
    await store().claim(key, claim("a"))
    clock.ms += 59_999
    expect(await store().claim(key, claim("b"))).toBe("busy")
    clock.ms += 1
    expect(await store().claim(key, claim("b"))).toBe("claimed")
    // The first holder was only slow; it no longer owns what it releases.
    await store().release(key, "a")
    expect(await store().claim(key, claim("c"))).toBe("busy")
    await store().release(key, "b")
    expect(await store().claim(key, claim("c"))).toBe("claimed")
  })

  test("does not release a finished envelope, and finishes an unknown one without an error", async () => {
    const key = newKey()
    await store().claim(key, claim("a"))
    await store().finish(key)
    await store().release(key, "a")
    expect(await store().isDone(key)).toBe(true)
    await store().finish(newKey())
  })

  test("grants it to one of many concurrent holders", async () => {
    const key = newKey()
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => store().claim(key, claim(`${i}`))))
    expect(answers.filter((answer) => answer === "claimed")).toHaveLength(1)
    expect(answers.filter((answer) => answer === "busy")).toHaveLength(19)
  })
}

describe("a store in memory", () => {
  const memory = createMemoryReplay({ clock })
  suite(() => memory)

  test("refuses new envelopes at capacity, and drops only expired ones", async () => {
    const small = createMemoryReplay({ clock, maxEntries: 2 })
    await small.claim("1", claim("a"))
    await small.finish("1")
    await small.claim("2", claim("a"))
    await expect(small.claim("3", claim("a"))).rejects.toThrow("full")
    expect(await small.isDone("1")).toBe(true)
    clock.ms += 600_000
    expect(await small.claim("3", claim("a"))).toBe("claimed")
  })
})

describeOnEachStore("the memory of a database", (kind) => {
  let opened: TestStore
  let replay: SqlReplay
  beforeAll(async () => {
    opened = await openTestStore(kind)
    const query = async (text: string, parameters: readonly unknown[]) =>
      (await opened.db.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text, [...parameters]))).rows
    replay = createSqlReplay({ query, clock })
    await query(replayTable, [])
    await query(replayTable, [])
  })
  afterAll(() => opened.close())
  suite(() => replay)

  test("drops expired entries", async () => {
    const key = newKey()
    await replay.claim(key, claim("a"))
    await replay.finish(key)
    await replay.sweep()
    expect(await replay.isDone(key)).toBe(true)
    clock.ms += 600_000
    await replay.sweep()
    expect(await replay.isDone(key)).toBe(false)
  })
})
