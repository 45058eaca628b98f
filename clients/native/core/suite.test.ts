import { afterEach, describe, expect, test } from "vitest"
import { hex } from "../../core/messaging/crypto/bytes.ts"
import { makeHpke } from "../../core/messaging/crypto/hpke.ts"
import { makeNodeSuite } from "../../node/crypto/suite.ts"
import { box } from "../testing/global-host.ts"
import { callHost, primitive } from "./host.ts"
import { defer } from "./invoke.ts"
import { createSuite } from "./suite.ts"

const suite = createSuite(() => box)
const bytes = (text: string) => Uint8Array.from(Buffer.from(text, "hex"))
const deferrable = new Set<number>([
  primitive.AES_GCM_SEAL,
  primitive.AES_GCM_OPEN,
  primitive.X25519_PUBLIC,
  primitive.X25519,
  primitive.ED25519_GENERATE,
  primitive.ED25519_SIGN,
])
afterEach(() => defer(new Set(), async () => undefined))

describe.each([
  ["at once", new Set<number>()],
  ["later", deferrable],
])("a suite whose host answers %s", (_, operations) => {
  const start = () => defer(operations, async (operation, args) => callHost(operation, ...args))

  // RFC 9180 appendix A.1.1: base mode, X25519, HKDF-SHA256, AES-128-GCM.
  test("derives and opens as RFC 9180 does", async () => {
    start()
    const hpke = makeHpke(suite)
    const pair = await hpke.deriveKeyPair(bytes("7268600d403fce431561aef583ee1613527cff655c1343f29812e66706df3234"))
    expect(hex(pair.privateKey)).toBe("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736")
    const receiver = await suite.dhKeyPair()
    const sealed = await makeHpke(makeNodeSuite()).seal(receiver.publicKey, bytes("01"), bytes("0203"))
    expect(hex(await hpke.open(receiver.privateKey, bytes("01"), sealed))).toBe("0203")
    await expect(hpke.open(receiver.privateKey, bytes("02"), sealed)).rejects.toThrow("tag")
  })

  test("signs by reference, and refuses a key of zero and bytes of another length", async () => {
    start()
    const { seed, publicKey } = await suite.signatureKeyPair()
    const signature = await suite.sign(seed, bytes("01"))
    expect(await makeNodeSuite().verify(publicKey, bytes("01"), signature)).toBe(true)
    expect(suite.verify(publicKey, bytes("01"), signature)).toBe(true)
    // The reference is no seed: the key of a seed with these bytes is another one.
    expect(await makeNodeSuite().sign(seed, bytes("01"))).not.toEqual(signature)
    const { privateKey } = await suite.dhKeyPair()
    await expect((async () => suite.dh(privateKey, new Uint8Array(32)))()).rejects.toThrow("zero")
    await expect((async () => suite.sign(bytes("01"), bytes("01")))()).rejects.toThrow("32 bytes")
    await expect((async () => suite.seal(new Uint8Array(32), new Uint8Array(12), seed, seed))()).rejects.toThrow(
      "16 bytes",
    )
  })
})
