// A secret box on any store of a few bytes per scope.
import type { Lock } from "@signet/client"
import { type SecretBox, type SecretBoxDescription, SecretBoxError, type SecretScope } from "@signet/client"
import { holdKeys, openBytes, scopeText, sealBytes } from "../../core/platform.ts"
import { addKey, type KeptKeys, readKeys } from "./kept-keys.ts"

/** Stores bytes per scope. Throws SecretBoxError; missing bytes are undefined. */
export interface Keeper {
  read(scope: SecretScope): Promise<Uint8Array | undefined>
  /**
   * For a slow store: an identifier of the current bytes, so that they are read again only after a change. Undefined
   * without bytes.
   */
  stamp?(scope: SecretScope): Promise<string | undefined>
  write(scope: SecretScope, bytes: Uint8Array): Promise<void>
  remove(scope: SecretScope): Promise<void>
}

/**
 * @param lock Prevents two processes from creating a key concurrently: one key, and its sealed bytes, would be lost.
 */
export function createKeptBox(description: SecretBoxDescription, keeper: Keeper, lock: Lock): SecretBox {
  const loading = new Map<string, Promise<KeptKeys | undefined>>()
  /** Cached as non-extractable objects, like held keys. */
  const known = new Map<string, { readonly stamp: string; readonly keys: KeptKeys }>()

  async function load(scope: SecretScope): Promise<KeptKeys | undefined> {
    const kept = await keeper.read(scope)
    return kept && readKeys(description, scope, kept).finally(() => kept.fill(0))
  }

  /** The cached keys, if the store's identifier is unchanged. */
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

  /** Concurrent seals and opens share one read: a thousand rows do not cause a thousand reads. */
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

  /** Drops cached keys after a change. */
  async function change(scope: SecretScope, work: () => Promise<void>): Promise<void> {
    await work().finally(() => {
      loading.delete(scopeText(scope))
      holding.changed()
    })
  }

  async function add(scope: SecretScope, before: Uint8Array | undefined): Promise<void> {
    const kept = await addKey(description, scope, before)
    await change(scope, () => keeper.write(scope, kept)).finally(() => kept.fill(0))
    // A store may accept bytes and not return them.
    if ((await load(scope)) === undefined) {
      throw new SecretBoxError("SECURE_STORE_UNAVAILABLE", "the store accepted a key and does not return it")
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
      if (keys === undefined) throw new SecretBoxError("KEY_MISSING", "no key exists yet: call createKey first")
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
