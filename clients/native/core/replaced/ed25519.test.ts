import "../../testing/global-host.ts"
import { ed25519 } from "@noble/curves/ed25519.js"
import { sha512 } from "@noble/hashes/sha2.js"
import { isPublicKey as isPortableKey, verifyEd25519 as verifyPortably } from "@signet/canonical/ed25519"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { isLong } from "../../../../test/support/effort.ts"
import { numbers } from "../../../../test/support/random.ts"
import { primitive } from "../host.ts"
import { isPublicKey, verifyEd25519 } from "./ed25519.ts"

const { Point } = ed25519
const numberFrom = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes.toReversed()).toString("hex")}`)

/** A host with curve arithmetic alone: no rule about keys, and S modulo the group order. */
function laxVerify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): number {
  try {
    const point = Point.fromBytes(publicKey, true)
    const [r, s] = [signature.subarray(0, 32), numberFrom(signature.subarray(32)) % Point.Fn.ORDER]
    const k = numberFrom(sha512(Buffer.concat([r, publicKey, message]))) % Point.Fn.ORDER
    const expected = Point.BASE.multiplyUnsafe(s).subtract(point.multiplyUnsafe(k))
    return Buffer.compare(expected.toBytes(), r) === 0 ? 1 : 0
  } catch {
    return 0
  }
}
const strict: unknown = Reflect.get(globalThis, "host")
beforeAll(() => {
  Object.assign(globalThis, {
    host: (operation: number, ...[publicKey, message, signature]: Uint8Array[]) =>
      operation === primitive.ED25519_VERIFY && publicKey && message && signature
        ? laxVerify(publicKey, message, signature)
        : expect.fail("another primitive"),
  })
})
afterAll(() => {
  Object.assign(globalThis, { host: strict })
})

const p = 2n ** 255n - 19n
const bytesOf = (value: bigint, sign = 0) => {
  const bytes = Uint8Array.from({ length: 32 }, (_, i) => Number((value >> BigInt(8 * i)) & 255n))
  bytes[31] = (bytes[31] ?? 0) | (sign << 7)
  return bytes
}
/** A point of order 8. */
const torsion = Point.fromHex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
const smallOrder = Array.from({ length: 8 }, (_, i) =>
  (i === 0 ? Point.ZERO : torsion.multiplyUnsafe(BigInt(i))).toBytes(),
)
const notCanonical = [p, p + 1n, p + 3n, 2n ** 255n - 1n].flatMap((y) => [bytesOf(y), bytesOf(y, 1)])
const edges = [0n, 1n, 2n, 3n, 4n, p - 1n, p - 2n].flatMap((y) => [bytesOf(y), bytesOf(y, 1)])
const draw = numbers(20261128)
const anyBytes = (length: number) => Uint8Array.from({ length }, () => draw(256))
const keys = [...smallOrder, ...notCanonical, ...edges, ...Array.from({ length: 60 }, () => anyBytes(32))]
const message = anyBytes(50)

describe("the core's Ed25519 rules are those of the portable implementation", () => {
  test("for what is a public key", () => {
    const verdicts = keys.map(isPortableKey)
    expect(keys.map(isPublicKey)).toEqual(verdicts)
    expect(new Set(verdicts)).toEqual(new Set([true, false]))
    expect(isPublicKey(new Uint8Array(31))).toBe(false)
  })

  test.runIf(isLong)("for signatures that are right, changed, malleable, or of a key with a small component", () => {
    const seed = anyBytes(32)
    const publicKey = ed25519.getPublicKey(seed)
    const signature = ed25519.sign(message, seed)
    const changed = signature.map((byte, i) => (i === 3 ? byte ^ 1 : byte))
    const s = numberFrom(signature.subarray(32))
    const malleable = Uint8Array.from([...signature.slice(0, 32), ...bytesOf(s + Point.Fn.ORDER)])
    const mixed = Point.fromBytes(publicKey).add(torsion).toBytes()
    const cases: [Uint8Array, Uint8Array][] = [
      [publicKey, signature],
      [publicKey, changed],
      [publicKey, malleable],
      [publicKey, signature.subarray(0, 63)],
      [mixed, signature],
      ...keys.map((key): [Uint8Array, Uint8Array] => [key, new Uint8Array(64)]),
      ...keys.map((key): [Uint8Array, Uint8Array] => [key, Uint8Array.from([...bytesOf(1n), ...new Uint8Array(32)])]),
    ]
    const verdicts = cases.map(([key, made]) => verifyPortably(key, message, made))
    expect(cases.map(([key, made]) => verifyEd25519(key, message, made))).toEqual(verdicts)
    expect(verdicts.slice(0, 5)).toEqual([true, false, false, false, false])
    // The host alone would accept some of them.
    expect(cases.map(([key, made]) => laxVerify(key, message, made) === 1)).not.toEqual(verdicts)
  })
})
