// Keys that scripts can use and cannot take along: non-extractable CryptoKeys in IndexedDB (Web Cryptography API,
// section 5.2). Made here they are never bytes that anything keeps.
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
  /** Sealed under the newest: tells that the key is the one that was made. */
  readonly canary: Uint8Array
}

const description: SecretBoxDescription = {
  backend: "web-crypto-indexeddb",
  version: 1,
  hardware: false,
  deviceBound: true,
  // As long as the browser keeps what is the origin's.
  persistent: true,
}
const canary = new TextEncoder().encode("signet canary")

/** @param database Its name; what is in it belongs to this box alone. */
export function createWebSecretBox(database = "signet-keys"): SecretBox {
  const open = openDatabase(database)

  async function load(scope: SecretScope): Promise<KeptKeys | undefined> {
    checkSecureContext()
    const kept = parseKeys(await stored(() => readIn(open, scopeText(scope))))
    const newest = kept?.keys.at(-1)
    if (kept === undefined || newest === undefined) return undefined
    const find = (id: string) => (id === newest.id ? newest : undefined)
    await openBytes(description, find, { scope, purpose: "canary" }, kept.canary).catch((cause: unknown) => {
      throw new SecretBoxError("SECURE_STORE_CHANGED", "the key here is not the one that was made", { cause })
    })
    return kept
  }

  /**
   * Adds a key to those before. A store that takes keys and does not have them, at once or when it is asked again, is
   * refused, and has what it had.
   *
   * @returns Whether the keys were still those before.
   */
  async function add(scope: SecretScope, before: KeptKeys | undefined): Promise<boolean> {
    checkSecureContext()
    const raw = crypto.getRandomValues(new Uint8Array(32))
    const key = await importSealingKey(raw).finally(() => raw.fill(0))
    const sealed = await sealBytes(description, key, { scope, purpose: "canary" }, canary)
    const kept: KeptKeys = { keys: [...(before?.keys ?? []), key], canary: sealed }
    // Nothing is awaited inside the transaction: it would end there.
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

  /** What was just put there, and is not whole when it is read: what was there before takes its place again. */
  async function ensureStays(scope: SecretScope, before: KeptKeys | undefined): Promise<void> {
    const name = scopeText(scope)
    const isThere = await stored(() =>
      changeIn(open, name, (now, at) => {
        // A key of another tab's, or none since it was destroyed there, is not ours to judge.
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
      throw new SecretBoxError("KEY_MISSING", "there is no key for this yet")
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
      // Nothing is sealed with a key that is gone tomorrow.
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
        // Another tab has rotated; this one rotates after it.
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
  new SecretBoxError("SECURE_STORE_UNAVAILABLE", "this browser does not keep keys here", { cause })

async function stored<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw cause instanceof SecretBoxError ? cause : unavailable(cause)
  }
}

/** What was kept. @throws SecretBoxError SECURE_STORE_CHANGED where some of it is gone. */
function parseKeys(value: unknown): KeptKeys | undefined {
  const kept = parseKept(value)
  if (kept !== "broken") return kept
  throw new SecretBoxError("SECURE_STORE_CHANGED", "the key that was made is not here any more")
}

/** A private window may keep the place and lose the key. */
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
