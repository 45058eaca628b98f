import { ed25519, x25519 } from "@noble/curves/ed25519.js"
import { expand, extract } from "@noble/hashes/hkdf.js"
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { verifyEd25519 } from "@signet/canonical/ed25519"
import { isSoundSignature } from "@signet/canonical/sound-key"
import { concat } from "./bytes.ts"
import type { Suite } from "./suite.ts"

export { verifyEd25519 }

type Buffered = Uint8Array<ArrayBuffer>

/** DER of an OKP private key up to its 32 bytes (RFC 8410 section 7); the last octet of the OID names the curve. */
function pkcs8(curve: 0x6e | 0x70, privateKey: Uint8Array): Buffered {
  const prefix = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, curve, 0x04, 0x22, 0x04, 0x20]
  return owned(concat(Uint8Array.from(prefix), privateKey))
}

/** Copies a view of a SharedArrayBuffer, which WebCrypto rejects. */
function owned(bytes: Uint8Array): Buffered {
  return bytes.buffer instanceof ArrayBuffer
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
    : bytes.slice()
}

function fromBase64Url(text: string): Uint8Array {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"))
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}

/** The public key of an Ed25519 seed. */
export const ed25519PublicKey = (seed: Uint8Array): Uint8Array => ed25519.getPublicKey(seed)

export type Sign = (message: Uint8Array) => Promise<Uint8Array>

/**
 * Imports an Ed25519 seed as a non-extractable key, or keeps a copy where the browser has no Ed25519.
 *
 * @returns Signs with the key; `key` is missing in such a browser. The caller may wipe the seed.
 */
export async function importSigner(
  seed: Uint8Array,
  subtle: SubtleCrypto = globalThis.crypto.subtle,
): Promise<{ readonly sign: Sign; readonly key: CryptoKey } | { readonly sign: Sign }> {
  const key = await subtle.importKey("pkcs8", pkcs8(0x70, seed), "Ed25519", false, ["sign"]).catch(() => undefined)
  if (key !== undefined) {
    return { key, sign: async (message) => new Uint8Array(await subtle.sign("Ed25519", key, owned(message))) }
  }
  const copy = seed.slice()
  return { sign: async (message) => ed25519.sign(message, copy) }
}

/** A new signing key: one that is not extractable, or a seed where the browser has no Ed25519. */
export async function signingKeyPair(
  subtle: SubtleCrypto = globalThis.crypto.subtle,
): Promise<{ readonly publicKey: Uint8Array } & ({ readonly key: CryptoKey } | { readonly seed: Uint8Array })> {
  const pair = await subtle.generateKey("Ed25519", false, ["sign", "verify"]).catch(() => undefined)
  if (pair !== undefined && "privateKey" in pair) {
    return { key: pair.privateKey, publicKey: new Uint8Array(await subtle.exportKey("raw", pair.publicKey)) }
  }
  const seed = globalThis.crypto.getRandomValues(new Uint8Array(32))
  return { seed, publicKey: ed25519.getPublicKey(seed) }
}

/** The curves that this browser supports. noble computes the others. */
interface Curves {
  readonly x25519: boolean
  readonly ed25519: boolean
}

async function curvesOf(subtle: SubtleCrypto): Promise<Curves> {
  const has = (name: "X25519" | "Ed25519", bytes: Buffered) =>
    subtle.importKey("raw", bytes, name, false, name === "Ed25519" ? ["verify"] : []).then(
      () => true,
      () => false,
    )
  const base = new Uint8Array(32)
  base[0] = 9
  return {
    x25519: await has("X25519", base),
    ed25519: await has("Ed25519", ed25519.getPublicKey(new Uint8Array(32)).slice()),
  }
}

/**
 * Creates cipher suite 1 for a browser: SHA-256, HMAC and HKDF run synchronously in noble, AES-GCM and the curves in
 * WebCrypto.
 *
 * An await costs more than hashing the short inputs of a ratchet, so this is faster than WebCrypto alone.
 *
 * @throws TypeError outside a secure context, where there is no `crypto.subtle`.
 */
export async function makeWebSuite(crypto: Crypto = globalThis.crypto): Promise<Suite> {
  const { subtle } = crypto
  const curves = await curvesOf(subtle)
  const verifyKeys = new WeakMap<Uint8Array, Promise<CryptoKey>>()
  const signKeys = new WeakMap<Uint8Array, Promise<CryptoKey>>()

  // Saves the import of keys that were just generated, mainly the ephemeral keys of HPKE.
  const generatedKeys = new WeakMap<Uint8Array, Promise<CryptoKey>>()

  const importDh = (bytes: Uint8Array) => subtle.importKey("pkcs8", pkcs8(0x6e, bytes), "X25519", true, ["deriveBits"])
  const dhKey = (bytes: Uint8Array) => generatedKeys.get(bytes) ?? importDh(bytes)
  const aesKey = (key: Uint8Array, use: KeyUsage) => subtle.importKey("raw", owned(key), "AES-GCM", false, [use])
  const aesOf = (nonce: Uint8Array, aad: Uint8Array) => ({
    name: "AES-GCM",
    iv: owned(nonce),
    additionalData: owned(aad),
  })
  const random = (length: number) => crypto.getRandomValues(new Uint8Array(length))

  return {
    digest: (data) => sha256(data),
    mac: (key, data) => hmac(sha256, key, data),
    extract: (salt, input) => extract(sha256, input, salt),
    expand: (key, info, length) => expand(sha256, key, info, length),
    async seal(key, nonce, aad, plaintext) {
      return new Uint8Array(await subtle.encrypt(aesOf(nonce, aad), await aesKey(key, "encrypt"), owned(plaintext)))
    },
    async open(key, nonce, aad, ciphertext) {
      return new Uint8Array(await subtle.decrypt(aesOf(nonce, aad), await aesKey(key, "decrypt"), owned(ciphertext)))
    },
    async dhKeyPair(given) {
      const privateKey = given ?? random(32)
      if (!curves.x25519) return { privateKey, publicKey: x25519.getPublicKey(privateKey) }
      const key = importDh(privateKey)
      if (given === undefined) generatedKeys.set(privateKey, key)
      const { x } = await subtle.exportKey("jwk", await key)
      return { privateKey, publicKey: fromBase64Url(x ?? "") }
    },
    async dh(privateKey, publicKey) {
      if (!curves.x25519) return x25519.getSharedSecret(privateKey, publicKey)
      const own = await dhKey(privateKey)
      const peer = await subtle.importKey("raw", owned(publicKey), "X25519", false, [])
      const shared = new Uint8Array(await subtle.deriveBits({ name: "X25519", public: peer }, own, 256))
      if (shared.every((byte) => byte === 0)) throw new Error("X25519 gave zero")
      return shared
    },
    async sign(seed, message) {
      if (!curves.ed25519) return ed25519.sign(message, seed)
      const known = signKeys.get(seed) ?? subtle.importKey("pkcs8", pkcs8(0x70, seed), "Ed25519", false, ["sign"])
      signKeys.set(seed, known)
      return new Uint8Array(await subtle.sign("Ed25519", await known, owned(message)))
    },
    async verify(publicKey, message, signature) {
      if (!curves.ed25519) return verifyEd25519(publicKey, message, signature)
      if (publicKey.length !== 32 || signature.length !== 64 || !isSoundSignature(signature)) return false
      try {
        const known =
          verifyKeys.get(publicKey) ?? subtle.importKey("raw", owned(publicKey), "Ed25519", false, ["verify"])
        verifyKeys.set(publicKey, known)
        return await subtle.verify("Ed25519", await known, owned(signature), owned(message))
      } catch {
        return false // bytes that are no point on the curve
      }
    },
    signatureKeyPair() {
      const seed = random(32)
      return { seed, publicKey: ed25519.getPublicKey(seed) }
    },
    random,
  }
}
