import { isPublicKey } from "@signet/canonical/ed25519"
import { describe, expect, test } from "vitest"
import { signatureCases } from "../../../../proto/canonical/testing/ed25519-cases.ts"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { hex } from "./bytes.ts"
import { makeHpke } from "./hpke.ts"
import { withIdentities } from "./identity.ts"
import type { Suite } from "./suite.ts"
import { ed25519PublicKey, importSigner, makeWebSuite, verifyEd25519 } from "./web-suite.ts"

/** The errors of Node and WebCrypto for a wrong tag. */
const unopened = /unable to authenticate data|operation-specific reason/

const bytes = (text: string) => Uint8Array.from(Buffer.from(text, "hex"))
const range = (from: number, to: number) => Uint8Array.from({ length: to - from }, (_, i) => from + i)

/** WebCrypto of an old browser, without X25519 and Ed25519: noble computes them. */
const withoutCurves: Crypto = Object.create(crypto, {
  getRandomValues: { value: (array: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(array) },
  subtle: {
    value: new Proxy(crypto.subtle, {
      get: (subtle, name: keyof SubtleCrypto) =>
        name === "importKey"
          ? async (format: "raw", key: BufferSource, algorithm: string, ...rest: [boolean, KeyUsage[]]) => {
              if (algorithm !== "AES-GCM") throw new DOMException("no such curve", "NotSupportedError")
              return subtle.importKey(format, key, algorithm, ...rest)
            }
          : subtle[name].bind(subtle),
    }),
  },
})

const suites: [string, () => Promise<Suite>][] = [
  ["Node", async () => makeNodeSuite()],
  ["browser", () => makeWebSuite()],
  ["browser without curves", () => makeWebSuite(withoutCurves)],
]

describe.each(suites)("the %s suite", (_, make) => {
  test.each([
    // RFC 5869 appendix A.1 to A.3
    {
      input: new Uint8Array(22).fill(0x0b),
      salt: range(0, 13),
      info: range(0xf0, 0xfa),
      prk: "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
      okm: "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
    },
    {
      input: range(0, 0x50),
      salt: range(0x60, 0xb0),
      info: range(0xb0, 0x100),
      prk: "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
      okm:
        "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09" +
        "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
    },
    {
      input: new Uint8Array(22).fill(0x0b),
      salt: new Uint8Array(),
      info: new Uint8Array(),
      prk: "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
      okm: "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
    },
  ])("extracts and expands as RFC 5869 does: $prk", async ({ input, salt, info, prk, okm }) => {
    const suite = await make()
    expect(hex(await suite.extract(salt, input))).toBe(prk)
    expect(hex(await suite.expand(bytes(prk), info, okm.length / 2))).toBe(okm)
  })

  test.each([
    // RFC 8032 section 7.1, tests 1 to 3
    [
      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
      "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
      "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
      "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
      "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
      "af82",
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
  ])("signs and verifies as RFC 8032 does: %s", async (seed, publicKey, message, signature) => {
    const suite = await make()
    expect(hex(await suite.sign(bytes(seed), bytes(message)))).toBe(signature)
    expect(await suite.verify(bytes(publicKey), bytes(message), bytes(signature))).toBe(true)
    const bent = bytes(signature)
    bent[40] = (bent[40] ?? 0) ^ 1
    expect(await suite.verify(bytes(publicKey), bytes(message), bent)).toBe(false)
    expect(await suite.verify(new Uint8Array(31), bytes(message), bytes(signature))).toBe(false)
    expect(await suite.verify(bytes(publicKey), bytes(message), bytes(`${signature}00`))).toBe(false)
  })

  test("verifies as the portable implementation does where libraries differ", async () => {
    const suite = await make()
    for (const { name, publicKey, message, signature, valid } of signatureCases) {
      // Keys of small order are refused when a key is received.
      if (!isPublicKey(publicKey)) continue
      expect([name, await suite.verify(publicKey, message, signature)]).toEqual([name, valid])
    }
  })

  // RFC 9180 appendix A.1.1: base mode, X25519, HKDF-SHA256, AES-128-GCM
  test("seals as RFC 9180 does", async () => {
    const suite = await make()
    const used: string[] = []
    const ephemeral = await makeHpke(suite).deriveKeyPair(
      bytes("7268600d403fce431561aef583ee1613527cff655c1343f29812e66706df3234"),
    )
    expect(hex(ephemeral.privateKey)).toBe("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736")
    const hpke = makeHpke({
      ...suite,
      dhKeyPair: (privateKey) => (privateKey === undefined ? ephemeral : suite.dhKeyPair(privateKey)),
      seal(key, nonce, aad, plaintext) {
        used.push(hex(key), hex(nonce))
        return suite.seal(key, nonce, aad, plaintext)
      },
    })
    const receiver = bytes("3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d")
    const info = bytes("4f6465206f6e2061204772656369616e2055726e")
    const plaintext = bytes("4265617574792069732074727574682c20747275746820626561757479")
    const sealed = await hpke.seal(receiver, info, plaintext)
    expect(hex(sealed.enc)).toBe("37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431")
    expect(used).toEqual(["4531685d41d65f03dc48f6b8302c05b0", "56d890e5accaaf011cff4b7d"])
    const [key = "", nonce = ""] = used
    expect(hex(await suite.seal(bytes(key), bytes(nonce), bytes("436f756e742d30"), plaintext))).toBe(
      "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
    )
    const receiverKey = bytes("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8")
    expect(hex(await hpke.open(receiverKey, info, sealed))).toBe(hex(plaintext))
    await expect(hpke.open(receiverKey, bytes("00"), sealed)).rejects.toThrow(unopened)
  })

  test("rejects a public key of low order", async () => {
    const suite = await make()
    const { privateKey } = await suite.dhKeyPair()
    await expect((async () => suite.dh(privateKey, new Uint8Array(32)))()).rejects.toThrow(
      /failed during derivation|operation-specific reason|invalid private or public key/,
    )
  })

  test("rejects altered ciphertext", async () => {
    const suite = await make()
    const [key, nonce, aad] = [suite.random(16), suite.random(12), suite.random(5)]
    const sealed = Uint8Array.from(await suite.seal(key, nonce, aad, range(0, 40)))
    expect(await suite.open(key, nonce, aad, sealed)).toEqual(expect.objectContaining({ length: 40 }))
    sealed[3] = (sealed[3] ?? 0) ^ 1
    await expect((async () => suite.open(key, nonce, aad, sealed))()).rejects.toThrow(unopened)
    await expect((async () => suite.open(key, nonce, aad, new Uint8Array(7)))()).rejects.toThrow(
      /shorter than its tag|operation-specific reason/,
    )
  })
})

test("a suite with identities signs with the key behind a reference and with no other", async () => {
  const suite = makeNodeSuite()
  const { seed, publicKey } = await suite.signatureKeyPair()
  const reference = Uint8Array.of(1, 2, 3)
  const own = withIdentities(suite, (bytes) =>
    hex(bytes) === "010203" ? (message) => suite.sign(seed, message) : undefined,
  )
  const message = range(0, 9)
  expect(await suite.verify(publicKey, message, await own.sign(reference, message))).toBe(true)
  expect(() => own.sign(seed, message)).toThrow("reference")
})

test("a browser suite works on bytes in shared memory", async () => {
  const suite = await makeWebSuite()
  const shared = (of: Uint8Array) => {
    const made = new Uint8Array(new SharedArrayBuffer(of.length + 2), 1, of.length)
    made.set(of)
    return made
  }
  const [key, nonce, aad] = [suite.random(16), suite.random(12), suite.random(5)]
  const sealed = await suite.seal(shared(key), shared(nonce), shared(aad), shared(range(0, 40)))
  expect(await suite.open(key, nonce, aad, shared(sealed))).toEqual(range(0, 40))
  const { seed, publicKey } = await suite.signatureKeyPair()
  const signature = await suite.sign(shared(seed), shared(aad))
  expect(await suite.verify(shared(publicKey), shared(aad), shared(signature))).toBe(true)
})

test("an all-zero shared secret is rejected in a browser that accepts a public key of low order", async () => {
  const { subtle } = crypto
  const lax: Crypto = Object.create(crypto, {
    getRandomValues: { value: (array: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(array) },
    subtle: {
      value: new Proxy(subtle, {
        get: (_, name: keyof SubtleCrypto) =>
          name === "deriveBits" ? async () => new ArrayBuffer(32) : subtle[name].bind(subtle),
      }),
    },
  })
  const suite = await makeWebSuite(lax)
  const { privateKey, publicKey } = await suite.dhKeyPair()
  await expect((async () => suite.dh(privateKey, publicKey))()).rejects.toThrow("X25519 gave zero")
})

test("the Node suite expands to 255 hashes at most (RFC 5869 section 2.3), and takes no key of another length", () => {
  const suite = makeNodeSuite()
  const key = range(0, 32)
  expect(suite.expand(key, new Uint8Array(), 8_160)).toHaveLength(8_160)
  expect(() => suite.expand(key, new Uint8Array(), 8_161)).toThrow("8160")
  const { privateKey } = Object(suite.dhKeyPair())
  expect(() => suite.dh(privateKey, range(0, 31))).toThrow("32 bytes")
  expect(() => suite.dh(privateKey, range(0, 33))).toThrow("32 bytes")
})

test.each([
  ["with", crypto.subtle, true],
  ["without", withoutCurves.subtle, false],
])("a seed signs in a browser %s Ed25519, after the seed is wiped", async (_, subtle, hasKey) => {
  const seed = new Uint8Array(32).fill(7)
  const publicKey = ed25519PublicKey(seed)
  const signer = await importSigner(seed, subtle)
  seed.fill(0)
  expect("key" in signer).toBe(hasKey)
  expect(verifyEd25519(publicKey, range(0, 9), await signer.sign(range(0, 9)))).toBe(true)
})
