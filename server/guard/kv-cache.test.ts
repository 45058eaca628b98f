import { expect, test } from "vitest"
import { createKeyValueCache, createKeyValueSnapshots, type KeyValueStore } from "./kv-cache.ts"

/** A store like Workers KV that records the expiry, in seconds, of each value. */
function keyValues(values: Record<string, string> = {}) {
  const seconds: Record<string, number | undefined> = {}
  const store: KeyValueStore = {
    get: async (key) => values[key] ?? null,
    async put(key, value, options) {
      values[key] = value
      seconds[key] = options?.expirationTtl
    },
  }
  return { store, values, seconds }
}

test("a key set is stored for at most a day, under the issuer's key", async () => {
  const { store, seconds } = keyValues()
  const [cache, other] = [createKeyValueCache(store), createKeyValueCache(store, "other")]
  expect(await cache.get()).toBeUndefined()
  const entry = { text: '{"keys":[]}', fetchedAtMs: 5 }
  await cache.put(entry)
  expect(await cache.get()).toEqual(entry)
  expect(await other.get()).toBeUndefined()
  expect(seconds).toEqual({ "signet-jwks": 86_400 })
})

test.each(["null", "7", '"text"', "[]", "{}", '{"text":"x"}', '{"fetchedAtMs":5}', '{"text":1,"fetchedAtMs":5}'])(
  "%s is not a key set",
  async (value) => {
    expect(await createKeyValueCache(keyValues({ "signet-jwks": value }).store).get()).toBeUndefined()
  },
)

test("a time that is not a number is rejected", async () => {
  const { store } = keyValues({ "signet-jwks": '{"text":"x","fetchedAtMs":"5"}' })
  expect(await createKeyValueCache(store).get()).toBeUndefined()
})

test("a snapshot is stored for at most a day", async () => {
  const { store, seconds } = keyValues()
  const cache = createKeyValueSnapshots(store)
  expect(await cache.get("a")).toBeUndefined()
  await cache.put("a", "jws")
  expect([await cache.get("a"), seconds]).toEqual(["jws", { a: 86_400 }])
})
