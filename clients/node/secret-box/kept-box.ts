// A secret box on anything that keeps a few bytes a scope.
import type { Lock } from "@signet/client"
import { type SecretBox, type SecretBoxDescription, SecretBoxError, type SecretScope } from "@signet/client"
import { holdKeys, openBytes, scopeText, sealBytes } from "../../core/platform.ts"
import { addKey, type KeptKeys, readKeys } from "./kept-keys.ts"

/** Keeps bytes a scope. What it throws is a SecretBoxError; what is not there is undefined. */
export interface Keeper {
  read(scope: SecretScope): Promise<Uint8Array | undefined>
  /**
   * Where a read is slow: names what it would give now, so that what was read once is read again only when it is another.
   * Undefined where there is nothing.
   */
  stamp?(scope: SecretScope): Promise<string | undefined>
  write(scope: SecretScope, bytes: Uint8Array): Promise<void>
  remove(scope: SecretScope): Promise<void>
}

/** @param lock Two processes that make a key at once would lose one, and what it sealed. */
export function createKeptBox(description: SecretBoxDescription, keeper: Keeper, lock: Lock): SecretBox {
  const loading = new Map<string, Promise<KeptKeys | undefined>>()
  /** As objects that give no bytes out, like those that are held. */
  const known = new Map<string, { readonly stamp: string; readonly keys: KeptKeys }>()

  async function load(scope: SecretScope): Promise<KeptKeys | undefined> {
    const kept = await keeper.read(scope)
    return kept && readKeys(description, scope, kept).finally(() => kept.fill(0))
  }

  /** What was read before, if the keeper names it still. */
  async function loadKnown(scope: SecretScope): Promise<KeptKeys | undefined> {
    if (keeper.stamp === undefined) return load(scope)
    const name = scopeText(scope)
    const stamp = await keeper.stamp(scope)
    const before = known.get(name)
    if (before !== undefined && before.stamp === stamp) return before.keys
    known.delete(name)
    const keys = await load(scope)
    if (keys !== undefined && stamp !== undefined) known.set(name, { stamp, keys })
    return keys
  }

  const holding = holdKeys(description, load)

  /** Many that seal and open at the same time read the keeper once: a thousand rows are not a thousand reads. */
  function loadTogether(scope: SecretScope): Promise<KeptKeys | undefined> {
    const name = scopeText(scope)
    const running = loading.get(name)
    if (running !== undefined) return running
    const started = loadKnown(scope).finally(() => {
      if (loading.get(name) === started) loading.delete(name)
    })
    loading.set(name, started)
    return started
  }

  /** What was read before a change is not for who comes after it. */
  async function change(scope: SecretScope, work: () => Promise<void>): Promise<void> {
    await work().finally(() => {
      loading.delete(scopeText(scope))
      holding.changed()
    })
  }

  async function add(scope: SecretScope, before: Uint8Array | undefined): Promise<void> {
    const kept = await addKey(description, scope, before)
    await change(scope, () => keeper.write(scope, kept)).finally(() => kept.fill(0))
    // What a store says it took is not yet what it gives.
    if ((await load(scope)) === undefined) {
      throw new SecretBoxError("SECURE_STORE_UNAVAILABLE", "the store took a key and does not have it")
    }
  }

  return {
    describe: () => description,
    createKey: (scope) =>
      lock.run(async () => {
        if ((await loadKnown(scope)) === undefined) await add(scope, undefined)
      }),
    async seal(scope, purpose, plaintext) {
      const keys = await loadTogether(scope)
      if (keys === undefined) throw new SecretBoxError("KEY_MISSING", "there is no key for this yet")
      return sealBytes(description, keys.newest, { scope, purpose }, plaintext)
    },
    async open(scope, purpose, sealed) {
      const keys = await loadTogether(scope)
      return openBytes(description, (id) => keys?.find(id), { scope, purpose }, sealed)
    },
    rotate: (scope) =>
      lock.run(async () => {
        const before = await keeper.read(scope)
        if (before === undefined) throw new SecretBoxError("KEY_MISSING", "there is no key to rotate")
        try {
          await readKeys(description, scope, before)
          await add(scope, before)
        } finally {
          before.fill(0)
        }
      }),
    hold: holding.hold,
    destroy: (scope) => lock.run(() => change(scope, () => keeper.remove(scope))),
  }
}
