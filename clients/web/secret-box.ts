// Keys that scripts can use but not extract: non-extractable CryptoKeys in IndexedDB (Web Cryptography API, section
// 5.2). Their raw bytes are never stored.
import { type SecretBox, type SecretBoxDescription, SecretBoxError, type SecretScope } from "@signet/client"
import {
  holdKeys,
  importSealingKey,
  openBytes,
  type ScopeKeys,
  type SealingKey,
  scopeText,
  sealBytes,
} from "../core/platform.ts"
import { changeIn, openDatabase, readIn } from "./idb.ts"
import { checkSecureContext } from "./secure-context.ts"

interface KeptKeys {
  /** Newest last. */
  readonly keys: readonly SealingKey[]
  /** Sealed under the newest key: verifies that the key is the created one. */
  readonly canary: Uint8Array
}

const description: SecretBoxDescription = {
  backend: "web-crypto-indexeddb",
  version: 1,
  hardware: false,
  deviceBound: true,
  // As long as the browser keeps the origin's data.
  persistent: true,
}
const canary = new TextEncoder().encode("signet canary")

/** @param database The database's name; only this box may use it. */
export function createWebSecretBox(database = "signet-keys"): SecretBox {
  const open = openDatabase(database)

  async function load(scope: SecretScope): Promise<KeptKeys | undefined> {
    checkSecureContext()
    const kept = parseKeys(await stored(() => readIn(open, scopeText(scope))))
    const newest = kept?.keys.at(-1)
    if (kept === undefined || newest === undefined) return undefined
    const find = (id: string) => (id === newest.id ? newest : undefined)
    await openBytes(description, find, { scope, purpose: "canary" }, kept.canary).catch((cause: unknown) => {
      throw new SecretBoxError("SECURE_STORE_CHANGED", "the stored key is not the one that was created", { cause })
    })
    return kept
  }

  /**
   * Adds a key. A browser that does not return the stored key, at once or later, is refused, and its earlier keys are
   * restored.
   *
   * @returns False if another tab has changed the keys.
   */
  async function add(scope: SecretScope, before: KeptKeys | undefined): Promise<boolean> {
    checkSecureContext()
    const raw = crypto.getRandomValues(new Uint8Array(32))
    const key = await importSealingKey(raw).finally(() => raw.fill(0))
    const sealed = await sealBytes(description, key, { scope, purpose: "canary" }, canary)
    const kept: KeptKeys = { keys: [...(before?.keys ?? []), key], canary: sealed }
    // Nothing is awaited inside the transaction, because it would end.
    const isAdded = await stored(() =>
      changeIn(
        open,
        scopeText(scope),
        (now, at) => {
          if (parseKeys(now)?.keys.at(-1)?.id !== before?.keys.at(-1)?.id) return false
          at.put(kept, scopeText(scope))
          return true
        },
        (now, isPut) => {
          const after = parseKept(now)
          if (isPut && (after === undefined || after === "broken")) throw unavailable()
        },
      ),
    )
    if (isAdded) await ensureStays(scope, before)
    return isAdded
  }

  /** If the written keys are incomplete when read, the earlier ones are restored. */
  async function ensureStays(scope: SecretScope, before: KeptKeys | undefined): Promise<void> {
    const name = scopeText(scope)
    const isThere = await stored(() =>
      changeIn(open, name, (now, at) => {
        // Another tab's key, or none after another tab destroyed it, is not changed here.
        if (parseKept(now) !== "broken") return true
        if (before === undefined) at.delete(name)
        else at.put(before, name)
        return false
      }),
    )
    if (!isThere) throw unavailable()
  }

  async function keysOf(scope: SecretScope): Promise<KeptKeys & { newest: SealingKey }> {
    const kept = await load(scope)
    const newest = kept?.keys.at(-1)
    if (kept === undefined || newest === undefined) {
      throw new SecretBoxError("KEY_MISSING", "no key exists yet: call createKey first")
    }
    return { ...kept, newest }
  }

  const holding = holdKeys(description, async (scope): Promise<ScopeKeys | undefined> => {
    const { keys = [] } = (await load(scope)) ?? {}
    const newest = keys.at(-1)
    return newest && { newest, find: (id) => keys.find((key) => key.id === id) }
  })

  return {
    describe: () => description,
    hold: holding.hold,
    async createKey(scope) {
      if ((await load(scope)) !== undefined) return
      await add(scope, undefined)
      // Nothing is sealed with a key that the browser did not store.
      if ((await load(scope)) === undefined) throw unavailable()
    },
    async seal(scope, purpose, plaintext) {
      const { newest } = await keysOf(scope)
      return sealBytes(description, newest, { scope, purpose }, plaintext)
    },
    async open(scope, purpose, sealed) {
      const kept = await load(scope)
      return openBytes(description, (id) => kept?.keys.find((key) => key.id === id), { scope, purpose }, sealed)
    },
    async rotate(scope) {
      while (!(await add(scope, await keysOf(scope)))) {
        // Another tab has rotated; this one rotates again.
      }
      holding.changed()
    },
    async destroy(scope) {
      checkSecureContext()
      await stored(() => changeIn(open, scopeText(scope), (_, at) => at.delete(scopeText(scope))))
      holding.changed()
    },
  }
}

const unavailable = (cause?: unknown) =>
  new SecretBoxError("SECURE_STORE_UNAVAILABLE", "this browser does not store keys for this page", { cause })

async function stored<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw cause instanceof SecretBoxError ? cause : unavailable(cause)
  }
}

/** The stored keys. @throws SecretBoxError SECURE_STORE_CHANGED if some are lost. */
function parseKeys(value: unknown): KeptKeys | undefined {
  const kept = parseKept(value)
  if (kept !== "broken") return kept
  throw new SecretBoxError("SECURE_STORE_CHANGED", "the browser has lost the key")
}

/** A private window may keep the entry and lose the key. */
function parseKept(value: unknown): KeptKeys | "broken" | undefined {
  if (value === undefined) return undefined
  const { keys, canary: sealed }: Record<string, unknown> = Object(value)
  const found = Array.isArray(keys) ? keys.map(parseKey) : []
  const whole = found.filter((key) => key !== undefined)
  if (found.length === 0 || whole.length < found.length || !(sealed instanceof Uint8Array)) return "broken"
  return { keys: whole, canary: sealed }
}

function parseKey(value: unknown): SealingKey | undefined {
  const { id, key }: Record<string, unknown> = Object(value)
  return typeof id === "string" && key instanceof CryptoKey && !key.extractable ? { id, key } : undefined
}
