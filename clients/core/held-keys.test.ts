import { beforeEach, describe, expect, test } from "vitest"
import { type Holding, holdKeys, type ScopeKeys } from "./held-keys.ts"
import type { SealingKey } from "./sealed.ts"
import { type HeldBox, SecretBoxError } from "./secret-box.ts"

const plaintext = new Uint8Array([1, 2, 3])
const scope = { app: "app_notes" }

async function newKeys(): Promise<ScopeKeys> {
  const key = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"])
  const newest: SealingKey = { id: Buffer.alloc(8, 1).toString("base64url"), key: key as CryptoKey }
  return { newest, find: (id) => (id === newest.id ? newest : undefined) }
}

let loads: PromiseWithResolvers<ScopeKeys | undefined>[]
let holding: Holding
let held: HeldBox
beforeEach(() => {
  loads = []
  holding = holdKeys({ backend: "passphrase", version: 1 }, () => {
    const load = Promise.withResolvers<ScopeKeys | undefined>()
    loads.push(load)
    return load.promise
  })
  held = holding.hold(scope)
})

describe("the keys of a scope", () => {
  test("are loaded once, and again after a change", async () => {
    const first = held.seal("token", plaintext)
    loads[0]?.resolve(await newKeys())
    await first
    await held.seal("token", plaintext)
    expect(loads).toHaveLength(1)
    holding.changed()
    const second = held.seal("token", plaintext)
    loads[1]?.resolve(await newKeys())
    await second
    expect(loads).toHaveLength(2)
  })

  test.each<[string, (load: PromiseWithResolvers<ScopeKeys | undefined>) => void, unknown]>([
    ["a load that fails", (load) => load.reject(new SecretBoxError("LOCKED", "locked")), { reason: "LOCKED" }],
    ["a load that finds no key", (load) => load.resolve(undefined), { reason: "KEY_MISSING" }],
  ])("%s is repeated by the next call", async (_, end, error) => {
    const refused = expect(held.seal("token", plaintext)).rejects.toMatchObject(error as object)
    for (const load of loads) end(load)
    await refused
    const next = held.seal("token", plaintext)
    expect(loads).toHaveLength(2)
    loads[1]?.resolve(await newKeys())
    await next
  })

  test.each<[string, (load: PromiseWithResolvers<ScopeKeys | undefined>) => void]>([
    ["fails", (load) => load.reject(new SecretBoxError("LOCKED", "locked"))],
    ["finds no key", (load) => load.resolve(undefined)],
  ])("that were loaded after a change stay, if the load of before it %s later", async (_, end) => {
    const before = expect(held.seal("token", plaintext)).rejects.toThrow(SecretBoxError)
    holding.changed()
    const after = held.seal("token", plaintext)
    loads[1]?.resolve(await newKeys())
    await after
    for (const load of loads.slice(0, 1)) end(load)
    await before
    const last = held.seal("token", plaintext)
    expect(loads).toHaveLength(2)
    await last
  })
})
