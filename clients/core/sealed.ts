// The format of bytes that a secret box (the OS keychain, or a browser key) seals with AES-256-GCM. The header states
// the backend and version of the box, the key's id and a hash of the scope. Header and purpose are authenticated.
import { type SecretBoxDescription, SecretBoxError, type SecretScope } from "./secret-box.ts"

type Bytes = Uint8Array<ArrayBuffer>

/** A key of a box. The id is a hash of the key, so that another key is detected. */
export interface SealingKey {
  /** 8 bytes as base64url. */
  readonly id: string
  readonly key: CryptoKey
}

/** The box that a value is bound to: only it opens the value. */
export type BoundBox = Pick<SecretBoxDescription, "backend" | "version">

/** The context that a sealed value is bound to, besides its box. */
interface Binding {
  readonly scope: SecretScope
  readonly purpose: string
}

const magic = [0x53, 0x47, 0x53, 0x42]
const format = 1
const idBytes = 8
const hashBytes = 32
const nonceBytes = 12
const tagBytes = 16
const utf8 = new TextEncoder()
const label = utf8.encode("signet secret box v1\0")

/** Seals bytes. @param box The box that opens the result. */
export async function sealBytes(
  box: BoundBox,
  { id, key }: SealingKey,
  { scope, purpose }: Binding,
  plaintext: Uint8Array,
): Promise<Uint8Array> {
  const backend = utf8.encode(box.backend)
  const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes))
  const header = concat([
    Uint8Array.from([...magic, format, backend.length]),
    backend,
    Uint8Array.of(box.version),
    fromBase64url(id),
    await hashOf(scope),
    nonce,
  ])
  const additionalData = concat([label, header, utf8.encode(purpose)])
  const parameters = { name: "AES-GCM", iv: nonce, additionalData }
  return concat([header, new Uint8Array(await crypto.subtle.encrypt(parameters, key, new Uint8Array(plaintext)))])
}

/**
 * Opens sealed bytes.
 *
 * @param find Finds a key of the scope by its id.
 * @throws SecretBoxError Like `SecretBox.open`.
 */
export async function openBytes(
  box: BoundBox,
  find: (id: string) => SealingKey | undefined,
  { scope, purpose }: Binding,
  sealed: Uint8Array,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(sealed)
  const { backend, version, id, scopeHash, nonce, header, ciphertext } = parse(bytes)
  if (backend !== box.backend) {
    throw new SecretBoxError(
      "SECURE_STORE_CHANGED",
      `the data was sealed by ${backend}, and this store is ${box.backend}`,
    )
  }
  if (version > box.version) throw newer()
  if (toBase64url(scopeHash) !== toBase64url(await hashOf(scope))) {
    throw new SecretBoxError("WRONG_USER", "the data was sealed for another user, app or tenant")
  }
  const found = find(id)
  if (found === undefined) {
    throw new SecretBoxError("SECURE_STORE_CHANGED", "the store does not have the key that sealed the data")
  }
  const additionalData = concat([label, header, utf8.encode(purpose)])
  try {
    const parameters = { name: "AES-GCM", iv: nonce, additionalData }
    return new Uint8Array(await crypto.subtle.decrypt(parameters, found.key, ciphertext))
  } catch (error) {
    throw new SecretBoxError("STATE_TAMPERED", "the data was changed, or sealed for another purpose", { cause: error })
  }
}

/** @param raw 32 bytes; the caller wipes them. */
export async function importSealingKey(raw: Uint8Array): Promise<SealingKey> {
  const bytes = new Uint8Array(raw)
  const digest = await crypto.subtle.digest("SHA-256", concat([label, bytes]))
  const key = await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"])
  bytes.fill(0)
  return { id: toBase64url(new Uint8Array(digest, 0, idBytes)), key }
}

/** A unique text for each scope. */
export function scopeText({ tenant, app, user, device }: SecretScope): string {
  return JSON.stringify([tenant ?? null, app, user ?? null, device ?? null])
}

/** A cache of scope hashes, emptied when it is full. */
const hashes = new Map<string, Promise<Bytes>>()
const maxHashes = 64

function hashOf(scope: SecretScope): Promise<Bytes> {
  const text = scopeText(scope)
  const cached = hashes.get(text)
  if (cached !== undefined) return cached
  const digested = crypto.subtle.digest("SHA-256", utf8.encode(text)).then((digest) => new Uint8Array(digest))
  if (hashes.size >= maxHashes) hashes.clear()
  hashes.set(text, digested)
  return digested
}

function parse(bytes: Bytes) {
  const backendBytes = bytes[magic.length + 1] ?? 0
  const start = magic.length + 2
  const end = start + backendBytes + 1 + idBytes + hashBytes + nonceBytes
  if (magic.some((byte, i) => bytes[i] !== byte)) throw tampered()
  if (bytes[magic.length] !== format) throw newer()
  if (bytes.length < end + tagBytes) throw tampered()
  let at = start
  const take = (length: number) => {
    at += length
    return bytes.subarray(at - length, at)
  }
  const backend = new TextDecoder().decode(take(backendBytes))
  const version = take(1)[0] ?? 0
  const id = toBase64url(take(idBytes))
  return {
    backend,
    version,
    id,
    scopeHash: take(hashBytes),
    nonce: take(nonceBytes),
    header: bytes.subarray(0, end),
    ciphertext: bytes.subarray(end),
  }
}

const tampered = () => new SecretBoxError("STATE_TAMPERED", "not sealed data, or incomplete")
const newer = () => new SecretBoxError("STATE_NEWER_VERSION", "a later version of this program sealed the data")

function concat(parts: readonly Uint8Array[]): Bytes {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

export function toBase64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "")
}

/** @throws DOMException for a text that is not base64url. */
export function fromBase64url(text: string): Bytes {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0))
}
