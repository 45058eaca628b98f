import { concat, utf8 } from "./bytes.ts"
import type { DhKeyPair, Suite } from "./suite.ts"

/** RFC 9180 section 5.1: KEM 0x0020 (X25519, HKDF-SHA256), KDF 0x0001, AEAD 0x0001. */
const kemId = concat(utf8("KEM"), Uint8Array.of(0x00, 0x20))
const suiteId = concat(utf8("HPKE"), Uint8Array.of(0x00, 0x20, 0x00, 0x01, 0x00, 0x01))
const version = utf8("HPKE-v1")
const empty = new Uint8Array()
const keyBytes = 16
const nonceBytes = 12

/** One HPKE message (RFC 9180 section 6.1): 32 bytes of encapsulated key, and the ciphertext with its tag. */
interface HpkeMessage {
  readonly enc: Uint8Array
  readonly ciphertext: Uint8Array
}

/** Single-shot HPKE in base mode with an empty AAD, as MLS uses it (RFC 9420 section 5.1.3). */
export interface Hpke {
  seal(publicKey: Uint8Array, info: Uint8Array, plaintext: Uint8Array): Promise<HpkeMessage>
  /** @throws if the message was not sealed to this key with this info. */
  open(privateKey: Uint8Array, info: Uint8Array, message: HpkeMessage, publicKey?: Uint8Array): Promise<Uint8Array>
  /** DeriveKeyPair (RFC 9180 section 7.1.3). @param input at least 32 bytes of secret. */
  deriveKeyPair(input: Uint8Array): Promise<DhKeyPair>
}

/**
 * Creates HPKE over a suite.
 *
 * One commit seals to up to a thousand keys with the same info, which may have 100 KB. The key schedule context is
 * therefore cached by the info **object**: callers must not change an info after passing it.
 */
export function makeHpke(suite: Suite): Hpke {
  const contexts = new WeakMap<Uint8Array, Promise<Uint8Array>>()

  async function labeledExtract(id: Uint8Array, salt: Uint8Array, label: string, input: Uint8Array) {
    return suite.extract(salt, concat(version, id, utf8(label), input))
  }

  async function labeledExpand(id: Uint8Array, key: Uint8Array, label: string, info: Uint8Array, length: number) {
    const prefix = Uint8Array.of(length >> 8, length & 0xff)
    return suite.expand(key, concat(prefix, version, id, utf8(label), info), length)
  }

  async function makeContext(info: Uint8Array): Promise<Uint8Array> {
    const pskIdHash = await labeledExtract(suiteId, empty, "psk_id_hash", empty)
    const infoHash = await labeledExtract(suiteId, empty, "info_hash", info)
    return concat(Uint8Array.of(0), pskIdHash, infoHash)
  }

  function contextOf(info: Uint8Array): Promise<Uint8Array> {
    const known = contexts.get(info)
    if (known !== undefined) return known
    const made = makeContext(info)
    contexts.set(info, made)
    return made
  }

  async function keyAndNonce(dh: Uint8Array, enc: Uint8Array, publicKey: Uint8Array, info: Uint8Array) {
    const prk = await labeledExtract(kemId, empty, "eae_prk", dh)
    const shared = await labeledExpand(kemId, prk, "shared_secret", concat(enc, publicKey), 32)
    const context = await contextOf(info)
    const secret = await labeledExtract(suiteId, shared, "secret", empty)
    return {
      key: await labeledExpand(suiteId, secret, "key", context, keyBytes),
      nonce: await labeledExpand(suiteId, secret, "base_nonce", context, nonceBytes),
    }
  }

  return {
    async seal(publicKey, info, plaintext) {
      const ephemeral = await suite.dhKeyPair()
      const dh = await suite.dh(ephemeral.privateKey, publicKey)
      const { key, nonce } = await keyAndNonce(dh, ephemeral.publicKey, publicKey, info)
      return { enc: ephemeral.publicKey, ciphertext: await suite.seal(key, nonce, empty, plaintext) }
    },
    async open(privateKey, info, { enc, ciphertext }, publicKey) {
      const own = publicKey ?? (await suite.dhKeyPair(privateKey)).publicKey
      const dh = await suite.dh(privateKey, enc)
      const { key, nonce } = await keyAndNonce(dh, enc, own, info)
      return suite.open(key, nonce, empty, ciphertext)
    },
    async deriveKeyPair(input) {
      const prk = await labeledExtract(kemId, empty, "dkp_prk", input)
      return suite.dhKeyPair(await labeledExpand(kemId, prk, "sk", empty, 32))
    },
  }
}
