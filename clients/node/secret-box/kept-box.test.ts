import { expect, test } from "vitest"
import { createKeptBox, type Keeper } from "./kept-box.ts"

const scope = { app: "app_1", user: "ada" }
const bytes = new TextEncoder().encode("secret")
const lock = { run: <T>(work: () => Promise<T>) => work() }
const description = { backend: "test", version: 1, hardware: false, deviceBound: false, persistent: true }

/** Stores bytes; `held` delays its next answer. */
function keeperOf(): Keeper & { reads: number; held: Promise<void> | undefined } {
  let kept: Uint8Array | undefined
  return {
    reads: 0,
    held: undefined,
    async read() {
      this.reads++
      const { held } = this
      this.held = undefined
      const answer = kept?.slice()
      await held
      return answer
    },
    async write(_, given) {
      kept = given.slice()
    },
    async remove() {
      kept = undefined
    },
  }
}

test("concurrent seals and opens read the keys once, sequential calls each time", async () => {
  const keeper = keeperOf()
  const box = createKeptBox(description, keeper, lock)
  await box.createKey(scope)
  keeper.reads = 0
  const sealed = await Promise.all(Array.from({ length: 100 }, () => box.seal(scope, "row", bytes)))
  const opened = await Promise.all(sealed.map((one) => box.open(scope, "row", one)))
  expect(opened).toEqual(sealed.map(() => bytes))
  expect(keeper.reads).toBe(2)
  for (const one of sealed.slice(0, 3)) await box.open(scope, "row", one)
  expect(keeper.reads).toBe(5)
})

test.each(["createKey", "destroy"] as const)(
  "a call after %s does not get keys that were read before it",
  async (change) => {
    const keeper = keeperOf()
    const box = createKeptBox(description, keeper, lock)
    if (change === "destroy") await box.createKey(scope)
    const early = Promise.withResolvers<void>()
    keeper.held = early.promise
    const before = box.seal(scope, "row", bytes).then(
      () => "sealed",
      () => "refused",
    )
    await box[change](scope)
    const after = box.seal(scope, "row", bytes).then(
      () => "sealed",
      () => "refused",
    )
    expect(await after).toBe(change === "createKey" ? "sealed" : "refused")
    early.resolve()
    expect(await before).toBe(change === "createKey" ? "refused" : "sealed")
  },
)

test("a held scope reads its keys once for all seals and opens", async () => {
  const keeper = keeperOf()
  const box = createKeptBox(description, keeper, lock)
  await box.createKey(scope)
  const held = box.hold?.(scope)
  keeper.reads = 0
  const sealed = await held?.seal("row", bytes)
  for (let i = 0; i < 3; i++) expect(await held?.open("row", sealed ?? bytes)).toEqual(bytes)
  expect(keeper.reads).toBe(1)
  // The box opens bytes that the held scope sealed.
  expect(await box.open(scope, "row", sealed ?? bytes)).toEqual(bytes)
  await expect(held?.open("another", sealed ?? bytes)).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
  held?.release()
  keeper.reads = 0
  await held?.open("row", sealed ?? bytes)
  expect(keeper.reads).toBe(1)
})

test("a held scope opens bytes that another process sealed with a newer key", async () => {
  const keeper = keeperOf()
  const box = createKeptBox(description, keeper, lock)
  await box.createKey(scope)
  const held = box.hold?.(scope)
  const before = await held?.seal("row", bytes)
  const other = createKeptBox(description, keeper, lock)
  await other.rotate(scope)
  const sealed = await other.seal(scope, "row", bytes)
  expect(await held?.open("row", sealed)).toEqual(bytes)
  expect(await held?.open("row", before ?? bytes)).toEqual(bytes)
})

test("a held scope seals nothing with destroyed keys, and reads again after a refusal", async () => {
  const keeper = keeperOf()
  const box = createKeptBox(description, keeper, lock)
  const held = box.hold?.(scope)
  await expect(held?.seal("row", bytes)).rejects.toMatchObject({ reason: "KEY_MISSING" })
  await box.createKey(scope)
  const sealed = await held?.seal("row", bytes)
  await box.rotate(scope)
  await held?.seal("row", bytes)
  await box.destroy(scope)
  await expect(held?.seal("row", bytes)).rejects.toMatchObject({ reason: "KEY_MISSING" })
  await expect(held?.open("row", sealed ?? bytes)).rejects.toMatchObject({ reason: "SECURE_STORE_CHANGED" })
})

test("a store that accepts a key and does not return it has no key", async () => {
  const box = createKeptBox(description, { ...keeperOf(), read: async () => undefined }, lock)
  await expect(box.createKey(scope)).rejects.toMatchObject({ reason: "SECURE_STORE_UNAVAILABLE" })
})

test("a missing key is not rotated", async () => {
  const box = createKeptBox(description, keeperOf(), lock)
  await expect(box.rotate(scope)).rejects.toMatchObject({ reason: "KEY_MISSING" })
})

test.each<[string, (kept: Uint8Array) => Uint8Array, string]>([
  ["format 0", (kept) => kept.with(0, 0), "SECURE_STORE_CHANGED"],
  ["a later format", (kept) => kept.with(0, 2), "STATE_NEWER_VERSION"],
  ["no key", (kept) => kept.with(1, 0), "SECURE_STORE_CHANGED"],
  ["more keys than there are", (kept) => kept.with(1, 2), "SECURE_STORE_CHANGED"],
  [
    "more keys than a scope has",
    (kept) => new Uint8Array([1, 65, ...new Uint8Array(3_000), ...kept]),
    "SECURE_STORE_CHANGED",
  ],
  ["a key alone", (kept) => kept.slice(0, 34), "SECURE_STORE_CHANGED"],
  ["half a key", (kept) => kept.slice(0, 20), "SECURE_STORE_CHANGED"],
  ["nothing", () => new Uint8Array(), "SECURE_STORE_CHANGED"],
  ["another key", (kept) => kept.with(2, (kept[2] ?? 0) ^ 1), "SECURE_STORE_CHANGED"],
])("a store that returns %s is refused, and gets no new key", async (_, change, reason) => {
  const keeper = keeperOf()
  await createKeptBox(description, keeper, lock).createKey(scope)
  const kept = (await keeper.read(scope)) ?? expect.fail("no key")
  await keeper.write(scope, change(kept))
  const box = createKeptBox(description, keeper, lock)
  for (const use of [() => box.seal(scope, "row", bytes), () => box.createKey(scope), () => box.rotate(scope)]) {
    await expect(use()).rejects.toMatchObject({ reason })
  }
  expect(await keeper.read(scope)).toEqual(change(kept))
})
