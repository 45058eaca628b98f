// The Keychain, by the library's documented behaviour: these tests have not run on macOS. Windows has dpapi.test.ts.
import type { AsyncEntry } from "@napi-rs/keyring"
import { expect, test } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { keyringKeeper } from "./keyring.ts"
import { osBox } from "./os-store.ts"

const scope = { app: "app_1", user: "ada" }
const bytes = (text: string) => new TextEncoder().encode(text)
const lock = { run: <T>(work: () => Promise<T>) => work() }

/** A box over a substitute for the library, with the given store, failure and system. */
function boxOver(store: Map<string, Uint8Array>, failure: { message?: string } = {}, backend = "macos-keychain") {
  class Entry {
    readonly #name: string
    constructor(...[service, account]: [string, string]) {
      this.#name = `${service} ${account}`
    }
    async getSecret() {
      if (failure.message !== undefined) throw new Error(failure.message)
      const kept = store.get(this.#name)
      return kept === undefined ? null : [...kept]
    }
    async setSecret(secret: Uint8Array) {
      store.set(this.#name, secret.slice())
    }
    deleteCredential = async () => store.delete(this.#name)
  }
  return osBox(backend, keyringKeeper(Entry as unknown as typeof AsyncEntry), lock)
}

test("sealed bytes open for their scope alone, also after a restart and rotations", async () => {
  const store = new Map<string, Uint8Array>()
  const box = boxOver(store)
  await box.createKey(scope)
  const sealed = await box.seal(scope, "token", bytes("secret"))
  await box.rotate(scope)
  const again = boxOver(store)
  expect(await again.open(scope, "token", sealed)).toEqual(bytes("secret"))
  const other = { ...scope, user: "eve" }
  await again.createKey(other)
  await expect(again.open(other, "token", sealed)).rejects.toMatchObject({ reason: "WRONG_USER" })
  await again.destroy(scope)
  await expect(again.open(scope, "token", sealed)).rejects.toMatchObject({ reason: "SECURE_STORE_CHANGED" })
})

test("a locked store and a failing one have a reason, and create no key", async () => {
  const store = new Map<string, Uint8Array>()
  const failure: { message?: string } = {}
  const box = boxOver(store, failure)
  await box.createKey(scope)
  const before = [...store]
  for (const [message, reason] of [
    ["Couldn't access platform storage: locked", "LOCKED"],
    ["Platform failure", "SECURE_STORE_UNAVAILABLE"],
  ] as const) {
    failure.message = message
    await expect(box.createKey(scope)).rejects.toMatchObject({ reason })
    await expect(box.seal(scope, "token", bytes("secret"))).rejects.toMatchObject({ reason })
    await expect(box.rotate(scope)).rejects.toMatchObject({ reason })
  }
  expect([...store]).toEqual(before)
})

test("bytes sealed on one system are refused on another", async () => {
  const store = new Map<string, Uint8Array>()
  const mac = boxOver(store)
  await mac.createKey(scope)
  const sealed = await mac.seal(scope, "token", bytes("secret"))
  const linux = boxOver(store, {}, "secret-service")
  await expect(linux.open(scope, "token", sealed)).rejects.toMatchObject({ reason: "SECURE_STORE_CHANGED" })
})

test.runIf(isLong)("a scope has a maximum number of keys", async () => {
  const box = boxOver(new Map())
  await box.createKey(scope)
  for (let keys = 1; keys < 64; keys++) await box.rotate(scope)
  await expect(box.rotate(scope)).rejects.toMatchObject({ reason: "SECURE_STORE_UNAVAILABLE" })
})
