import { afterEach, beforeEach, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../test/support/postgres.ts"
import { createKeyRing } from "./key-ring.ts"
import { createSecrets } from "./secrets.ts"

const secrets = createSecrets({
  peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }],
  sealingKey: new Uint8Array(32).fill(2),
})

describeOnEachStore("processes that share a database", (kind) => {
  let opened: TestStore
  beforeEach(async () => {
    opened = await openTestStore(kind)
  })
  afterEach(() => opened.close())

  test("make one set of keys, rotate once, and drop a compromised key together", async () => {
    const clock = { ms: 1_800_000_000_000, nowMs: () => clock.ms }
    const rings = Array.from({ length: 8 }, () => createKeyRing({ signingKeys: opened.signingKeys, secrets, clock }))
    const statuses = async () =>
      (await opened.signingKeys.list())
        .filter((key) => key.purpose === "ACCESS")
        .map((key) => key.status)
        .toSorted()
    const signing = () => new Set(rings.map((ring) => ring.sign("at+jwt", {}).split(".")[0]))

    const started = await Promise.all(rings.map((ring) => ring.start()))
    expect(await statuses()).toEqual(["CURRENT", "NEXT"])
    expect(started.filter((changes) => changes.length > 0)).toHaveLength(1)
    expect(signing().size).toBe(1)

    clock.ms += 30 * 86_400_000
    const rotated = await Promise.all(rings.map((ring) => ring.tick()))
    expect(await statuses()).toEqual(["CURRENT", "NEXT", "PREVIOUS"])
    expect(rotated.filter((changes) => changes.length > 0)).toHaveLength(1)
    expect(signing().size).toBe(1)

    const [stolen] = (await opened.signingKeys.list()).filter(
      (key) => key.status === "CURRENT" && key.purpose === "ACCESS",
    )
    const compromised = await Promise.all(rings.map((ring) => ring.compromise(stolen?.kid ?? "")))
    expect(compromised.filter((changes) => changes.length > 0)).toHaveLength(1)
    expect(await statuses()).toEqual(["COMPROMISED", "CURRENT", "NEXT", "PREVIOUS"])
    expect(signing().size).toBe(1)
    for (const ring of rings) expect(ring.jwks().map((jwk) => jwk.kid)).not.toContain(stolen?.kid)
  })
})
