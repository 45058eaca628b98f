// Signatures on which verifiers are known to differ, and the expected result (RFC 8032, "Taming the many EdDSAs").
import { ed25519 } from "@noble/curves/ed25519.js"
import { sha512 } from "@noble/hashes/sha2.js"
import { concat, utf8 } from "../bytes.ts"
import { bytes32, signerOf } from "./world.ts"

/** A signature and whether it is valid. */
interface SignatureCase {
  readonly name: string
  readonly publicKey: Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
  readonly valid: boolean
}

const { Point } = ed25519
const order = Point.Fn.ORDER
const { publicKey, sign } = signerOf(8)
const message = utf8("a message")
const signature = sign(message)
const r = signature.subarray(0, 32)
const s = signature.subarray(32)
const neutral = Point.ZERO.toBytes()
/** A point of order 8. */
const torsion = Point.fromHex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")

function numberOf(bytes: Uint8Array): bigint {
  return bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n)
}

function bytesOf(value: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, at) => Number((value >> BigInt(8 * at)) & 0xffn))
}

/** Signs with a nonce and a key whose points may have a torsion component. */
function signAskew(secret: bigint, nonce: bigint, keyTorsion: typeof torsion, nonceTorsion: typeof torsion) {
  const key = Point.BASE.multiply(secret).add(keyTorsion).toBytes()
  const point = Point.BASE.multiply(nonce).add(nonceTorsion).toBytes()
  const k = numberOf(sha512(concat(point, key, message))) % order
  return { publicKey: key, message, signature: concat(point, bytesOf((nonce + k * secret) % order)) }
}

/**
 * Uses the smallest nonce for which the key's torsion component cancels, or does not cancel, in the cofactorless
 * equation.
 */
function signUnderAskewKey(cancels: boolean) {
  for (let nonce = 7n; ; nonce++) {
    const signed = signAskew(5n, nonce, torsion, Point.ZERO)
    const k = numberOf(sha512(concat(signed.signature.subarray(0, 32), signed.publicKey, message))) % order
    if ((k % 8n === 0n) === cancels) return signed
  }
}

/** A signature by the owner of the key with a nonce of zero, which satisfies the equation. */
function signWithNeutralR(secret: bigint) {
  const key = Point.BASE.multiply(secret).toBytes()
  const k = numberOf(sha512(concat(neutral, key, message))) % order
  return { publicKey: key, message, signature: concat(neutral, bytesOf((k * secret) % order)) }
}

const rfc8032 = {
  publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
  message: "72",
  signature:
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
}
const hex = (text: string) => Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))

export const signatureCases: readonly SignatureCase[] = [
  {
    name: "RFC 8032 section 7.1, test 2",
    publicKey: hex(rfc8032.publicKey),
    message: hex(rfc8032.message),
    signature: hex(rfc8032.signature),
    valid: true,
  },
  { name: "good", publicKey, message, signature, valid: true },
  { name: "another message", publicKey, message: utf8("a massage"), signature, valid: false },
  { name: "another key", publicKey: signerOf(9).publicKey, message, signature, valid: false },
  { name: "R of another", publicKey, message, signature: concat(Point.BASE.toBytes(), s), valid: false },
  {
    name: "S that is not reduced",
    publicKey,
    message,
    signature: concat(r, bytesOf(numberOf(s) + order)),
    valid: false,
  },
  { name: "S of all ones", publicKey, message, signature: concat(r, bytes32(0xff)), valid: false },
  { name: "a byte short", publicKey, message, signature: signature.subarray(0, 63), valid: false },
  { name: "a byte long", publicKey, message, signature: concat(signature, Uint8Array.of(0)), valid: false },
  {
    name: "the neutral element as key, R and zero as S",
    publicKey: neutral,
    message,
    signature: concat(neutral, bytesOf(0n)),
    valid: false,
  },
  {
    name: "a key of order 8",
    publicKey: torsion.toBytes(),
    message,
    signature: concat(neutral, bytesOf(0n)),
    valid: false,
  },
  {
    name: "the neutral element written as 2^255-18",
    publicKey: bytesOf(2n ** 255n - 18n),
    message,
    signature: concat(neutral, bytesOf(0n)),
    valid: false,
  },
  {
    name: "the neutral element written with a sign",
    publicKey: bytesOf(1n + 2n ** 255n),
    message,
    signature: concat(neutral, bytesOf(0n)),
    valid: false,
  },
  { name: "a key that is no point", publicKey: bytesOf(2n), message, signature, valid: false },
  { name: "R with a torsion part, good only times 8", ...signAskew(5n, 7n, Point.ZERO, torsion), valid: false },
  {
    name: "a key with a torsion part that does not cancel, good only times 8",
    ...signUnderAskewKey(false),
    valid: false,
  },
  { name: "the neutral element as R, by the owner of the key", ...signWithNeutralR(5n), valid: false },
  { name: "a key with a torsion part that cancels", ...signUnderAskewKey(true), valid: true },
]
