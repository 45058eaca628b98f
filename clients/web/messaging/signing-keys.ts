// The device's signing keys: non-extractable CryptoKeys in IndexedDB, which the cores of a page know by reference.
import { SecretBoxError, type SecretScope } from "@signet/client"
import { ed25519PublicKey, importSigner, type Sign, signingKeyPair } from "../../core/messaging/crypto/web-suite.ts"
import { scopeText, toBase64url } from "../../core/platform.ts"
import { changeIn, openDatabase, readIn, removeIn } from "../idb.ts"
import { checkSecureContext } from "../secure-context.ts"

export interface SigningKeys {
  /** @returns The reference of a new key, and its public key. `importSeed` stores the key; until then it is in memory. */
  generate(scope: SecretScope): Promise<{ readonly reference: Uint8Array; readonly publicKey: Uint8Array }>
  /**
   * Stores a generated key, or that of a seed which an earlier version left in the sealed rows. Repeated calls have the
   * same result.
   *
   * @param seed The seed, or a reference.
   * @returns The key's reference.
   * @throws SecretBoxError KEY_MISSING for a reference to a key that this browser does not have
   */
  importSeed(scope: SecretScope, seed: Uint8Array, publicKey: Uint8Array): Promise<Uint8Array>
  sign(scope: SecretScope, reference: Uint8Array, message: Uint8Array): Promise<Uint8Array>
  /** Deletes the keys of a scope. */
  destroy(scope: SecretScope): Promise<void>
}

const utf8 = new TextEncoder()
/** More than the keys that a device has at once. */
const mostSigners = 32

/** @param database The database's name; only these keys may use it. */
export function createSigningKeys(database = "signet-signing-keys"): SigningKeys {
  const open = openDatabase(database)
  const signers = new Map<string, Promise<Sign>>()
  /** Generated keys that are not stored. */
  const fresh = new Map<string, StoredKey>()

  async function keep(scope: SecretScope, publicKey: Uint8Array, key: StoredKey): Promise<Uint8Array> {
    const reference = await referenceOf(publicKey)
    const name = nameOf(scope, reference)
    await stored(() =>
      changeIn(
        open,
        name,
        // Another tab may have been first.
        (before, at) => before ?? at.put(key, name),
        (after) => void parseKey(after),
      ),
    )
    fresh.delete(name)
    return reference
  }

  const find = async (scope: SecretScope, reference: Uint8Array): Promise<StoredKey | undefined> => {
    const known = fresh.get(nameOf(scope, reference))
    if (known !== undefined) return known
    const found = await stored(() => readIn(open, nameOf(scope, reference)))
    return found === undefined ? undefined : parseKey(found)
  }

  function signerOf(scope: SecretScope, reference: Uint8Array): Promise<Sign> {
    const name = nameOf(scope, reference)
    const known = signers.get(name)
    if (known !== undefined) return known
    const signer = find(scope, reference).then((key) => {
      if (key === undefined) throw missing()
      return signWith(key)
    })
    if (signers.size >= mostSigners) signers.clear()
    signers.set(name, signer)
    signer.catch(() => signers.delete(name))
    return signer
  }

  return {
    async generate(scope) {
      checkSecureContext()
      const made = await signingKeyPair()
      const { publicKey } = made
      const reference = await referenceOf(publicKey)
      fresh.set(nameOf(scope, reference), "key" in made ? made.key : await sealed(made.seed))
      return { reference, publicKey }
    },
    async importSeed(scope, seed, publicKey) {
      checkSecureContext()
      const known = isEqual(seed, await referenceOf(publicKey)) ? await find(scope, seed) : undefined
      if (known !== undefined) return keep(scope, publicKey, known)
      const own = isEqual(ed25519PublicKey(seed), publicKey) ? seed : await derivedSeed(open, scope, seed)
      if (!isEqual(ed25519PublicKey(own), publicKey)) throw missing()
      const key = await importKey(own)
      if (own !== seed) own.fill(0)
      return keep(scope, publicKey, key)
    },
    sign: async (scope, reference, message) => (await signerOf(scope, reference))(message),
    async destroy(scope) {
      checkSecureContext()
      signers.clear()
      fresh.clear()
      const from = scopeText(scope)
      // The root of earlier versions has the scope's own name. No name of a key sorts after "~".
      await stored(() => removeIn(open, IDBKeyRange.bound(from, `${from} ~`)))
    },
  }
}

/** Of a browser without Ed25519, whose scripts sign with the opened seed. */
interface SealedSeed {
  readonly sealing: CryptoKey
  readonly nonce: Uint8Array<ArrayBuffer>
  readonly seed: Uint8Array<ArrayBuffer>
}

type StoredKey = CryptoKey | SealedSeed

const label = utf8.encode("signet signing key v2")

/** Equal keys have equal references: an interrupted import is repeated, and stores nothing twice. */
async function referenceOf(publicKey: Uint8Array): Promise<Uint8Array> {
  const named = new Uint8Array(label.length + publicKey.length)
  named.set(label)
  named.set(publicKey, label.length)
  return new Uint8Array(await crypto.subtle.digest("SHA-256", named))
}

const nameOf = (scope: SecretScope, reference: Uint8Array): string => `${scopeText(scope)} ${toBase64url(reference)}`

const isEqual = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((byte, i) => byte === other[i])

const missing = () => new SecretBoxError("KEY_MISSING", "this browser has no such signing key")

async function importKey(seed: Uint8Array): Promise<StoredKey> {
  const made = await importSigner(seed)
  return "key" in made ? made.key : sealed(seed)
}

async function sealed(given: Uint8Array): Promise<SealedSeed> {
  const sealing = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"])
  const nonce = crypto.getRandomValues(new Uint8Array(12))
  const plaintext = new Uint8Array(given)
  const seed = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv: nonce }, sealing, plaintext))
  plaintext.fill(0)
  return { sealing, nonce, seed }
}

async function signWith(key: StoredKey): Promise<Sign> {
  if (key instanceof CryptoKey) {
    return async (message) => new Uint8Array(await crypto.subtle.sign("Ed25519", key, new Uint8Array(message)))
  }
  const { sealing, nonce } = key
  const seed = new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv: nonce }, sealing, key.seed))
  return (await importSigner(seed)).sign
}

const derivation = utf8.encode("signet signing key v1")

/** The seed of a reference of an earlier version, which derived keys from a root. @throws SecretBoxError KEY_MISSING */
async function derivedSeed(
  open: () => Promise<IDBDatabase>,
  scope: SecretScope,
  reference: Uint8Array,
): Promise<Uint8Array<ArrayBuffer>> {
  const root = await stored(() => readIn(open, scopeText(scope)))
  if (!(root instanceof CryptoKey)) throw missing()
  const parameters = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(reference), info: derivation }
  return new Uint8Array(await crypto.subtle.deriveBits(parameters, root, 256))
}

/** A private window may keep the entry and lose the key. @throws SecretBoxError SECURE_STORE_CHANGED */
function parseKey(value: unknown): StoredKey {
  if (value instanceof CryptoKey && !value.extractable) return value
  const { sealing, nonce, seed }: Record<string, unknown> = Object(value)
  const isSealed = sealing instanceof CryptoKey && nonce instanceof Uint8Array && seed instanceof Uint8Array
  if (isSealed) return { sealing, nonce: new Uint8Array(nonce), seed: new Uint8Array(seed) }
  throw new SecretBoxError("SECURE_STORE_CHANGED", "the browser has lost a signing key")
}

async function stored<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof SecretBoxError) throw cause
    throw new SecretBoxError("SECURE_STORE_UNAVAILABLE", "this browser does not store keys for this page", { cause })
  }
}
