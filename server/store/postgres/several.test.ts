import { randomBytes } from "node:crypto"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../test/support/postgres.ts"
import { newDeviceId } from "./messaging/testing/world.ts"
import { findTogether } from "./several.ts"
import { run } from "./sql.ts"

describeOnEachStore("calls of one statement together", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())

  function finder(text: string, types: readonly string[]) {
    const sent: string[] = []
    const ask = <Row>(one: string, values: readonly unknown[]) => {
      sent.push(one)
      return run<Row>(opened.db, one, values)
    }
    return { sent, find: findTogether<{ n: number; word: string | null }>(ask, text, types) }
  }
  const text = "select 10 / $1::integer as n, $2::text as word where $1::integer <> 7"
  const types = ["integer", "text"]

  test("each find their own row, or none", async () => {
    const { sent, find } = finder(text, types)
    const found = await Promise.all([find([1, "a"]), find([7, "b"]), find([2, null]), find([1, "a"])])
    expect(found).toEqual([
      { call: 1, n: 10, word: "a" },
      undefined,
      { call: 3, n: 5, word: null },
      { call: 4, n: 10, word: "a" },
    ])
    expect(sent).toHaveLength(1)
  })

  test("do not fail because of another one", async () => {
    const { find } = finder(text, types)
    const found = await Promise.allSettled([find([5, "a"]), find([0, "b"]), find([1, "c"])])
    expect(found.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"])
    expect(found[0]).toMatchObject({ value: { n: 2, word: "a" } })
  })

  test("are the statement itself if there is one call", async () => {
    const { sent, find } = finder(text, types)
    expect(await find([5, "a"])).toEqual({ n: 2, word: "a" })
    expect(sent).toEqual([text])
  })

  test("use each proof nonce once, also with itself and beside those of others", async () => {
    const { proofNonces } = opened.messaging
    const [one, other] = [newDeviceId(), newDeviceId()]
    const [nonce, second] = [randomBytes(16), randomBytes(16)]
    const until = Date.now() + 60_000
    const uses = [
      proofNonces.use(one, nonce, until),
      proofNonces.use(other, nonce, until),
      proofNonces.use(one, nonce, until),
      proofNonces.use(one, second, until),
    ]
    expect(await Promise.all(uses)).toEqual([true, true, false, true])
    expect(await Promise.all([proofNonces.use(one, nonce, until), proofNonces.use(other, second, until)])).toEqual([
      false,
      true,
    ])
  })
})
