import type { SigningKeyRecord } from "@signet/kernel/keys/ports"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import {
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"

const key = (kid: string, status: SigningKeyRecord["status"], createdAtMs = 1): SigningKeyRecord => ({
  kid,
  purpose: "ACCESS",
  status,
  publicJwk: { kty: "EC", crv: "P-256", x: "x", y: "y", kid, alg: "ES256", use: "sig" },
  privateSealed: Uint8Array.of(1, 0, 255),
  createdAtMs,
  activatedAtMs: status === "CURRENT" ? createdAtMs : null,
  retiredAtMs: null,
})

describeOnEachStore("signing keys", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterEach(() => opened.db.deleteFrom("signing_key").execute())
  afterAll(() => opened.close())

  test("are stored as returned, oldest first; omitted keys stay unchanged", async () => {
    const [older, newer] = [key("b", "CURRENT", 1), key("a", "NEXT", 2)]
    expect(await opened.signingKeys.list()).toEqual([])
    expect(await opened.signingKeys.change(() => [newer, older])).toStrictEqual([older, newer])
    const seen: (readonly SigningKeyRecord[])[] = []
    const next = key("c", "NEXT", 3)
    const after = await opened.signingKeys.change((keys) => {
      seen.push(keys)
      return [next]
    })
    expect(seen).toStrictEqual([[older, newer]])
    expect(after).toStrictEqual([older, newer, next])
    expect(await opened.signingKeys.list()).toStrictEqual(after)
  })

  test("swap their statuses in one transaction, in any order", async () => {
    await opened.signingKeys.change(() => [key("a", "CURRENT"), key("b", "NEXT")])
    const rotated = await opened.signingKeys.change((keys) =>
      keys
        .map((kept): SigningKeyRecord => ({ ...kept, status: kept.status === "NEXT" ? "CURRENT" : "PREVIOUS" }))
        .reverse(),
    )
    expect(rotated.map(({ kid, status }) => [kid, status])).toEqual([
      ["a", "PREVIOUS"],
      ["b", "CURRENT"],
    ])
  })

  test("a second current key is impossible, and a throw changes nothing", async () => {
    await opened.signingKeys.change(() => [key("a", "CURRENT")])
    const second = opened.signingKeys.change(() => [key("b", "CURRENT")])
    await expect(second).rejects.toMatchObject({ code: "23505" })
    const thrown = opened.signingKeys.change(() => {
      throw new Error("no")
    })
    await expect(thrown).rejects.toThrow("no")
    expect((await opened.signingKeys.list()).map(({ kid }) => kid)).toEqual(["a"])
  })
})

describeOnPostgres("signing keys of several processes", () => {
  test("of 20 concurrent processes that find no key, one creates it", async () => {
    const opened = await openTestStore("postgres", { maxConnections: 20 })
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        opened.signingKeys.change((keys) => (keys.length > 0 ? keys : [key(`key-${i}`, "CURRENT")])),
      ),
    )
    expect(await opened.signingKeys.list()).toHaveLength(1)
    expect(new Set(outcomes.map((keys) => keys.map(({ kid }) => kid).join())).size).toBe(1)
    await opened.close()
  })
})
