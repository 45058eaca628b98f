import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  diffieHellman,
  type KeyObject,
  randomBytes,
  sign as signMessage,
  verify as verifyMessage,
} from "node:crypto"
import { isSoundSignature } from "@signet/canonical/sound-key"
import type { Suite } from "../../core/messaging/platform.ts"

type Curve = "X25519" | "Ed25519"
const tagBytes = 16
const hashBytes = 32

/**
 * Cipher suite 1 on node:crypto, synchronous throughout.
 *
 * Keys are imported as JWK: about eleven times faster than DER. New keys are 32 random bytes: `generateKeyPairSync` of
 * an OKP key followed by `export` has deadlocked (Node 20.20.2). Secrets are passed as key objects too: Node 24.21
 * detects plain bytes by an exception, 20 us each time. Public keys, signing keys and generated keys are cached as key
 * objects, by the identity of their bytes and for as long as those live.
 */
export function makeNodeSuite(): Suite {
  const publicKeys = new WeakMap<Uint8Array, KeyObject>()
  const signingKeys = new WeakMap<Uint8Array, KeyObject>()
  // Above all the ephemeral keys of HPKE, each of which is used once, at once.
  const generatedKeys = new WeakMap<Uint8Array, KeyObject>()

  function publicKey(curve: Curve, bytes: Uint8Array): KeyObject {
    const known = publicKeys.get(bytes)
    if (known !== undefined) return known
    const made = createPublicKey({ key: { kty: "OKP", crv: curve, x: text(bytes) }, format: "jwk" })
    publicKeys.set(bytes, made)
    return made
  }

  function signingKey(seed: Uint8Array): KeyObject {
    const known = signingKeys.get(seed)
    if (known !== undefined) return known
    const made = privateKey("Ed25519", seed)
    signingKeys.set(seed, made)
    return made
  }

  return {
    digest: (data) => plain(createHash("sha256").update(data).digest()),
    mac: hmac,
    extract: hmac,
    expand,
    seal,
    open,
    dhKeyPair(bytes) {
      if (bytes !== undefined) return { privateKey: bytes, publicKey: publicHalf(privateKey("X25519", bytes)) }
      const made = random(32)
      const key = privateKey("X25519", made)
      generatedKeys.set(made, key)
      return { privateKey: made, publicKey: publicHalf(key) }
    },
    dh(bytes, peer) {
      const own = generatedKeys.get(bytes) ?? privateKey("X25519", bytes)
      const keys = { privateKey: own, publicKey: publicKey("X25519", peer) }
      const shared = plain(diffieHellman(keys))
      if (shared.every((byte) => byte === 0)) throw new Error("X25519 gave zero")
      return shared
    },
    sign: (seed, message) => plain(signMessage(null, message, signingKey(seed))),
    verify(bytes, message, signature) {
      if (bytes.length !== 32 || signature.length !== 64 || !isSoundSignature(signature)) return false
      try {
        return verifyMessage(null, message, publicKey("Ed25519", bytes), signature)
      } catch {
        return false // bytes that are no point on the curve
      }
    },
    signatureKeyPair() {
      const seed = random(32)
      return { seed, publicKey: publicHalf(signingKey(seed)) }
    },
    random,
  }
}

/** Not a Buffer, whose `slice` shares memory: secrets are copied and wiped. */
function plain(buffer: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer: memory, byteOffset, length } = buffer
  return memory instanceof ArrayBuffer ? new Uint8Array(memory, byteOffset, length) : Uint8Array.from(buffer)
}

function random(length: number): Uint8Array {
  return plain(randomBytes(length))
}

function text(bytes: Uint8Array): string {
  if (bytes.length !== 32) throw new Error("a key of this suite has 32 bytes")
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64url")
}

function privateKey(curve: Curve, bytes: Uint8Array): KeyObject {
  // Node reads only d, but requires x to be a string.
  return createPrivateKey({ key: { kty: "OKP", crv: curve, d: text(bytes), x: "" }, format: "jwk" })
}

function publicHalf(key: KeyObject): Uint8Array {
  const { x } = createPublicKey(key).export({ format: "jwk" })
  if (x === undefined) throw new Error("an OKP key has a public half")
  return plain(Buffer.from(x, "base64url"))
}

function hmac(key: Uint8Array, data: Uint8Array): Uint8Array {
  return plain(createHmac("sha256", createSecretKey(key)).update(data).digest())
}

function expand(key: Uint8Array, info: Uint8Array, length: number): Uint8Array {
  const output = new Uint8Array(Math.ceil(length / hashBytes) * hashBytes)
  if (output.length > 255 * hashBytes) throw new Error("HKDF gives at most 8160 bytes")
  const secret = createSecretKey(key)
  let block = new Uint8Array()
  for (let offset = 0; offset < length; offset += hashBytes) {
    const counter = Uint8Array.of(offset / hashBytes + 1)
    block = createHmac("sha256", secret).update(block).update(info).update(counter).digest()
    output.set(block, offset)
  }
  return output.subarray(0, length)
}

function seal(key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, plaintext: Uint8Array): Uint8Array {
  const cipher = createCipheriv("aes-128-gcm", createSecretKey(key), nonce).setAAD(aad)
  return plain(Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]))
}

function open(key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, ciphertext: Uint8Array): Uint8Array {
  if (ciphertext.length < tagBytes) throw new Error("shorter than its tag")
  const end = ciphertext.length - tagBytes
  const decipher = createDecipheriv("aes-128-gcm", createSecretKey(key), nonce)
    .setAAD(aad)
    .setAuthTag(ciphertext.subarray(end))
  return plain(Buffer.concat([decipher.update(ciphertext.subarray(0, end)), decipher.final()]))
}
