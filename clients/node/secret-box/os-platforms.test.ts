// Keychain and Credential Manager by what the library says they do: they have not been run.
import { afterEach, expect, test, vi } from "vitest"
import { openOsSecretBox } from "./os-store.ts"

const scope = { app: "app_1", user: "ada" }
const bytes = (text: string) => new TextEncoder().encode(text)
const lock = { run: <T>(work: () => Promise<T>) => work() }
/** Of a generic credential of Windows (CRED_MAX_CREDENTIAL_BLOB_SIZE). */
const maxBytes = 2_560

/** The library over a store of this test, which fails with what it is given. */
function libraryOver(store: Map<string, Uint8Array>, failure: { message?: string } = {}) {
  class AsyncEntry {
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
      if (secret.length > maxBytes) throw new Error("Attribute 'secret' is longer than platform limit")
      store.set(this.#name, secret.slice())
    }
    deleteCredential = async () => store.delete(this.#name)
  }
  vi.doMock("@napi-rs/keyring", () => ({ AsyncEntry }))
}
afterEach(() => void vi.doUnmock("@napi-rs/keyring"))

const platforms = ["darwin", "win32"] as const

test.each(platforms)(
  "on %s what was sealed opens for its scope alone, after a restart and rotations too",
  async (platform) => {
    libraryOver(new Map())
    const box = await openOsSecretBox({ lock, platform })
    await box.createKey(scope)
    const sealed = await box.seal(scope, "token", bytes("secret"))
    await box.rotate(scope)
    const again = await openOsSecretBox({ lock, platform })
    expect(await again.open(scope, "token", sealed)).toEqual(bytes("secret"))
    const other = { ...scope, user: "eve" }
    await again.createKey(other)
    await expect(again.open(other, "token", sealed)).rejects.toMatchObject({ reason: "WRONG_USER" })
    await again.destroy(scope)
    await expect(again.open(scope, "token", sealed)).rejects.toMatchObject({ reason: "SECURE_STORE_CHANGED" })
  },
)

test.each(platforms)("on %s a locked store and a failing one are typed, and nothing is made anew", async (platform) => {
  const store = new Map<string, Uint8Array>()
  const failure: { message?: string } = {}
  libraryOver(store, failure)
  const box = await openOsSecretBox({ lock, platform })
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

test("what was sealed on one system is not taken for sealed on another", async () => {
  libraryOver(new Map())
  const mac = await openOsSecretBox({ lock, platform: "darwin" })
  await mac.createKey(scope)
  const sealed = await mac.seal(scope, "token", bytes("secret"))
  const windows = await openOsSecretBox({ lock, platform: "win32" })
  await expect(windows.open(scope, "token", sealed)).rejects.toMatchObject({ reason: "SECURE_STORE_CHANGED" })
})

test("as many keys as a scope may have fit into what Windows takes", async () => {
  const store = new Map<string, Uint8Array>()
  libraryOver(store)
  const box = await openOsSecretBox({ lock, platform: "win32" })
  await box.createKey(scope)
  for (let keys = 1; keys < 64; keys++) await box.rotate(scope)
  await expect(box.rotate(scope)).rejects.toMatchObject({ reason: "SECURE_STORE_UNAVAILABLE" })
  expect([...store.values()].map(({ length }) => length <= maxBytes)).toEqual([true])
  expect([...store.values()][0]?.length).toBeGreaterThan(2_000)
})
