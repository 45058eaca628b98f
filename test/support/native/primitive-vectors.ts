// Published answers of the host's primitives, as arguments and answers of the tests' core.

type Value = number | string | null | { readonly hex: string }

const hex = (digits: string) => ({ hex: digits.replaceAll(/\s/g, "") })
const ascii = (text: string) => hex(Buffer.from(text).toString("hex"))

const abc = ascii("abc")
const sha256OfAbc = hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")

const gcm = {
  key: "feffe9928665731c6d6a8f9467308308",
  nonce: hex("cafebabefacedbaddecaf888"),
  aad: hex("feedfacedeadbeeffeedfacedeadbeefabaddad2"),
  plaintext: hex(`d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
    1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39`),
  sealed128: hex(`42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
    21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091 5bc94fbc3221a5db94fae95ae7121a47`),
  sealed256: hex(`522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
    8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662 76fc6ece0f4e1768cddf8853bb2d551b`),
}

const ed25519 = {
  publicKey: hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"),
  message: hex("72"),
  signature: hex(`92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da
    085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00`),
}

/** Name, primitive and arguments, answer. In order: the running hash has a state. */
export const primitiveVectors: readonly (readonly [string, readonly Value[], Value])[] = [
  ["FIPS 180-4, SHA-256", [3, abc], sha256OfAbc],
  [
    "FIPS 180-4, SHA-512",
    [4, abc],
    hex(`ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a
      2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f`),
  ],
  [
    "RFC 4231, test case 1",
    [5, hex("0b".repeat(20)), ascii("Hi There")],
    hex("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
  ],
  [
    "RFC 4231, test case 6: a key longer than a block",
    [5, hex("aa".repeat(131)), ascii("Test Using Larger Than Block-Size Key - Hash Key First")],
    hex("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
  ],
  [
    "RFC 5869, test case 1",
    [6, hex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5"), hex("f0f1f2f3f4f5f6f7f8f9"), 42],
    hex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"),
  ],
  ["GCM specification, test case 4", [7, hex(gcm.key), gcm.nonce, gcm.aad, gcm.plaintext], gcm.sealed128],
  ["GCM specification, test case 4, opened", [8, hex(gcm.key), gcm.nonce, gcm.aad, gcm.sealed128], gcm.plaintext],
  ["GCM specification, test case 16", [7, hex(gcm.key.repeat(2)), gcm.nonce, gcm.aad, gcm.plaintext], gcm.sealed256],
  ["GCM with other associated data", [8, hex(gcm.key), gcm.nonce, hex("00"), gcm.sealed128], null],
  ["GCM with a key of 24 bytes", [7, hex("00".repeat(24)), gcm.nonce, gcm.aad, gcm.plaintext], null],
  [
    "RFC 7748, section 5.2",
    [
      10,
      hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"),
      hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"),
    ],
    hex("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"),
  ],
  [
    "RFC 7748, section 5.2, one iteration",
    [9, hex(`09${"00".repeat(31)}`)],
    hex("422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"),
  ],
  ["RFC 9180, section 7.1.4: a secret that is all zero", [10, hex("01".repeat(32)), hex("00".repeat(32))], null],
  ["RFC 8032, section 7.1, test 2", [13, ed25519.publicKey, ed25519.message, ed25519.signature], 1],
  ["RFC 8032 with another message", [13, ed25519.publicKey, hex("73"), ed25519.signature], 0],
  ["RFC 8032 with a short signature", [13, ed25519.publicKey, ed25519.message, hex("00")], 0],
  ["a running hash begins", [16], 1],
  ["a running hash, first part", [17, 1, ascii("a")], 1],
  ["a running hash, second part", [17, 1, ascii("bc")], 1],
  ["a running hash ends", [18, 1], sha256OfAbc],
  ["a running hash ends once", [18, 1], null],
  [
    "the test of the Argon2 authors: Argon2id 1.3, two passes, 256 KiB, one lane (RFC 9106)",
    [19, ascii("password"), ascii("somesalt"), 256, 2, 1, 32],
    hex("9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe"),
  ],
  [
    "the same with two lanes, and the passphrase as a text",
    [19, "password", ascii("somesalt"), 256, 2, 2, 32],
    hex("6d093c501fd5999645e0ea3bf620d7b8be7fd2db59c20d9fff9539da2bf57037"),
  ],
  ["UTF-8 of a text with a lone surrogate", [20, "é\ud800\u0000€"], hex("c3a9efbfbd00e282ac")],
  ["UTF-8 as a text", [21, hex("c3a900f09f9880")], "é\u0000😀"],
  ["an encoded surrogate", [21, hex("eda080")], null],
  ["an overlong form", [21, hex("c0af")], null],
  ["an incomplete form", [21, hex("e282")], null],
]
