// The device's signing keys. Each is derived from a reference, which the core has, and a root, which scripts can use but
// not export: a non-extractable CryptoKey in IndexedDB.
import { SecretBoxError, type SecretScope } from "@signet/client"
import { ed25519PublicKey, importSigner } from "../../../core/messaging/crypto/web-suite.ts"
import { scopeText, toBase64url } from "../../../core/platform.ts"
import { changeIn, openDatabase, readIn } from "../../idb.ts"
import { checkSecureContext } from "../../secure-context.ts"

type Sign = (message: Uint8Array) => Promise<Uint8Array>

export interface SigningKeys {
  /** Creates the root of a scope if it is missing. */
  createRoot(scope: SecretScope): Promise<void>
  /** @returns The reference of a new key, and its public key. */
  generate(scope: SecretScope): Promise<{ readonly reference: Uint8Array; readonly publicKey: Uint8Array }>
  sign(scope: SecretScope, reference: Uint8Array, message: Uint8Array): Promise<Uint8Array>
  /** Deletes the root: its keys are gone. */
  destroy(scope: SecretScope): Promise<void>
}

const info = new TextEncoder().encode("signet signing key v1")
/** More than the keys that a device has at once. */
const mostSigners = 32

/** @param database The database's name; only these keys may use it. */
export function createSigningKeys(database = "signet-signing-keys"): SigningKeys {
  const open = openDatabase(database)
  const signers = new Map<string, Promise<Sign>>()

  async function rootOf(scope: SecretScope): Promise<CryptoKey> {
    checkSecureContext()
    const root = await stored(() => readIn(open, scopeText(scope)))
    if (root === undefined) throw new SecretBoxError("KEY_MISSING", "the scope has no signing root")
    // A private window may keep the entry and lose the key.
    if (root instanceof CryptoKey && !root.extractable) return root
    throw new SecretBoxError("SECURE_STORE_CHANGED", "the browser has lost the signing root")
  }

  async function seedOf(scope: SecretScope, reference: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
    const parameters = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(reference), info }
    return new Uint8Array(await crypto.subtle.deriveBits(parameters, await rootOf(scope), 256))
  }

  /** The derived bytes exist during the import only. */
  async function withSeed<T>(scope: SecretScope, reference: Uint8Array, use: (seed: Uint8Array) => Promise<T>) {
    const seed = await seedOf(scope, reference)
    return use(seed).finally(() => seed.fill(0))
  }

  function signerOf(scope: SecretScope, reference: Uint8Array): Promise<Sign> {
    const name = `${scopeText(scope)} ${toBase64url(reference)}`
    const known = signers.get(name)
    if (known !== undefined) return known
    const signer = withSeed(scope, reference, importSigner)
    if (signers.size >= mostSigners) signers.clear()
    signers.set(name, signer)
    signer.catch(() => signers.delete(name))
    return signer
  }

  return {
    async createRoot(scope) {
      checkSecureContext()
      const raw = crypto.getRandomValues(new Uint8Array(32))
      const root = await crypto.subtle.importKey("raw", raw, "HKDF", false, ["deriveBits"]).finally(() => raw.fill(0))
      await stored(() =>
        changeIn(open, scopeText(scope), (before, at) => {
          // Another tab may have been first.
          if (before === undefined) at.put(root, scopeText(scope))
        }),
      )
      await rootOf(scope)
    },
    async generate(scope) {
      const reference = crypto.getRandomValues(new Uint8Array(32))
      const publicKey = await withSeed(scope, reference, async (seed) => ed25519PublicKey(seed))
      return { reference, publicKey }
    },
    sign: async (scope, reference, message) => (await signerOf(scope, reference))(message),
    async destroy(scope) {
      checkSecureContext()
      signers.clear()
      await stored(() => changeIn(open, scopeText(scope), (_, at) => at.delete(scopeText(scope))))
    },
  }
}

async function stored<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof SecretBoxError) throw cause
    throw new SecretBoxError("SECURE_STORE_UNAVAILABLE", "this browser does not store keys for this page", { cause })
  }
}
