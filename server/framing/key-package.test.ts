import { type KeyPackage, signKeyPackage } from "ts-mls/keyPackage.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import { beforeAll, expect, test } from "vitest"
import type { Identity } from "../../clients/core/messaging/mls.ts"
import { testKit } from "../../clients/core/messaging/testing/forge.ts"
import { lifetime, newIdentity, testEngine } from "../../clients/core/messaging/testing/our-seat.ts"
import { parseKeyPackage, verifyKeyPackage } from "./key-package.ts"
import { bent, bentKeyPackage, refusalWithPlace, theirs } from "./testing/bent.ts"
import { suite } from "./testing/recording.ts"

let good: Uint8Array
let identity: Identity
beforeAll(async () => {
  identity = await newIdentity(suite, "a device")
  good = (await testEngine(suite).newKeyPackage(identity, lifetime)).keyPackage
})

const grease = 0x1a1a
/** Capabilities of our own leaves: a version, a suite, two extensions and a credential. */
const own = 5
type Capabilities = KeyPackage["leafNode"]["capabilities"]
const leaf = (bend: object) => (kp: KeyPackage) => ({ leafNode: { ...kp.leafNode, ...bend } })
const can = (bend: (capabilities: Capabilities) => object) => (kp: KeyPackage) => ({
  leafNode: { ...kp.leafNode, capabilities: bent(kp.leafNode.capabilities, bend) },
})
const extension = (extensionType: number, size = 0) => ({ extensionType, extensionData: new Uint8Array(size) })

test.each<[string, (keyPackage: KeyPackage) => object, string]>([
  ["as it is", () => ({}), "read"],
  [
    "of another suite",
    () => ({ cipherSuite: "MLS_128_DHKEMP256_AES128GCM_SHA256_P256" }),
    "MLS_UNSUPPORTED cipher_suite",
  ],
  ["with an init key of 31 bytes", () => ({ initKey: new Uint8Array(31) }), "MLS_MALFORMED init_key"],
  [
    "whose init key is the leaf's",
    (kp) => ({ initKey: kp.leafNode.hpkePublicKey }),
    "MLS_MALFORMED init_key: also the leaf's",
  ],
  [
    "with an encryption key of 33 bytes",
    leaf({ hpkePublicKey: new Uint8Array(33) }),
    "MLS_MALFORMED leaf_node.encryption_key",
  ],
  [
    "with a signature key of 65 bytes",
    leaf({ signaturePublicKey: new Uint8Array(65) }),
    "MLS_MALFORMED leaf_node.signature_key",
  ],
  [
    "with an X.509 credential",
    leaf({ credential: { credentialType: "x509", certificates: [] } }),
    "MLS_UNSUPPORTED credential_type: only basic is used",
  ],
  ["that does not speak MLS 1.0", can(() => ({ versions: [] })), "MLS_UNSUPPORTED capabilities.versions"],
  ["that cannot do the suite", can(() => ({ ciphersuites: ["7"] })), "MLS_UNSUPPORTED capabilities.cipher_suites"],
  [
    "that cannot read basic credentials",
    can(() => ({ credentials: ["x509"] })),
    "MLS_UNSUPPORTED capabilities.credentials",
  ],
  [
    "with GREASE in what it can do (RFC 9420 section 13.5)",
    can((c) => ({
      ciphersuites: [...c.ciphersuites, `${grease}`],
      extensions: [grease],
      proposals: [grease],
      credentials: ["basic", `${grease}`],
    })),
    "read",
  ],
  [
    "that can do more than anybody",
    can(() => ({ proposals: new Array(33).fill(grease) })),
    "MLS_TOO_LARGE capabilities.proposals",
  ],
  [
    "with nine cipher suites",
    can((c) => ({ ciphersuites: new Array(9).fill(c.ciphersuites[0]) })),
    "MLS_TOO_LARGE capabilities.cipher_suites",
  ],
  [
    "with two protocol versions",
    can((c) => ({ versions: new Array(2).fill(c.versions[0]) })),
    "MLS_TOO_LARGE capabilities.versions",
  ],
  [
    "with four credential types",
    can((c) => ({ credentials: new Array(4).fill(c.credentials[0]) })),
    "MLS_TOO_LARGE capabilities.credentials",
  ],
  [
    "with three extensions",
    (kp) => ({ ...kp, extensions: [extension(5), extension(7), extension(8)] }),
    "MLS_TOO_LARGE key_package.extensions",
  ],
  [
    "with three leaf extensions",
    leaf({ extensions: [extension(1), extension(3), extension(5)] }),
    "MLS_TOO_LARGE leaf_node.extensions",
  ],
  ["that can do as much as anybody may", can(() => ({ proposals: new Array(32 - own).fill(grease) })), "read"],
  [
    "whose lists are too long together",
    can(() => ({ proposals: new Array(33 - own).fill(grease) })),
    "MLS_TOO_LARGE leaf_node: capabilities and extensions",
  ],
  [
    "whose lists are too long together with its leaf extensions",
    (kp) => ({
      leafNode: {
        ...can(() => ({ proposals: new Array(32 - own).fill(grease) }))(kp).leafNode,
        extensions: [extension(5)],
      },
    }),
    "MLS_TOO_LARGE leaf_node: capabilities and extensions",
  ],
  [
    "whose lists are too long together with its own extensions",
    (kp) => ({ ...can(() => ({ proposals: new Array(32 - own).fill(grease) }))(kp), extensions: [extension(7)] }),
    "MLS_TOO_LARGE key_package: capabilities and extensions",
  ],
  [
    "of an engine with every registered suite and GREASE in each list, as OpenMLS makes it",
    (kp) => ({
      ...can((c) => ({
        ciphersuites: [...c.ciphersuites, "2", "3", "4", "5", "6", "7", `${grease}`],
        extensions: [1, 10, grease, 0xf0a1, 0xf0a2],
        proposals: [8, 9, grease],
        credentials: ["basic", "x509", `${grease}`],
      }))(kp),
      extensions: [extension(10)],
    }),
    "read",
  ],
  [
    "with a leaf extension of the reserved type that it cannot do",
    leaf({ extensions: [extension(0)] }),
    "MLS_MALFORMED leaf_node.extensions: not in its capabilities",
  ],
  ["with the last default leaf extension", leaf({ extensions: [extension(5)] }), "read"],
  [
    "with the first leaf extension that is no default",
    leaf({ extensions: [extension(6)] }),
    "MLS_MALFORMED leaf_node.extensions: not in its capabilities",
  ],
  [
    "with a leaf extension that it cannot do",
    leaf({ extensions: [extension(grease)] }),
    "MLS_MALFORMED leaf_node.extensions: not in its capabilities",
  ],
  ["with a leaf extension that it can do", leaf({ extensions: [extension(0xf0a1, 3)] }), "read"],
  [
    "with a default leaf extension",
    leaf({ extensions: [{ extensionType: "application_id", extensionData: new Uint8Array(3) }] }),
    "read",
  ],
  [
    "with an extension twice",
    () => ({ extensions: [extension(7), extension(7)] }),
    "MLS_MALFORMED key_package.extensions: a type twice",
  ],
  [
    "with 17 extensions",
    () => ({ extensions: Array.from({ length: 17 }, (_, i) => extension(100 + i)) }),
    "MLS_TOO_LARGE key_package.extensions",
  ],
  ["with last_resort", () => ({ extensions: [extension(10)] }), "read"],
  [
    "with last_resort that says something",
    () => ({ extensions: [extension(10, 1)] }),
    "MLS_MALFORMED last_resort: has no content",
  ],
  [
    "with the leaf of a commit",
    leaf({ leafNodeSource: "commit", parentHash: new Uint8Array() }),
    "MLS_MALFORMED leaf_node_source of a key package",
  ],
  [
    "with the leaf of an update",
    leaf({ leafNodeSource: "update" }),
    "MLS_UNSUPPORTED leaf_node_source: updates are not used",
  ],
  ["with a short leaf signature", leaf({ signature: new Uint8Array(63) }), "MLS_MALFORMED leaf_node.signature"],
  ["with a long signature", () => ({ signature: new Uint8Array(65) }), "MLS_MALFORMED key_package.signature"],
])("a key package %s", (_, bend, expected) => {
  expect(refusalWithPlace(() => parseKeyPackage(bentKeyPackage(good, bend)))).toBe(expected)
})

test("a credential of 8 KiB is refused at any message limit", () => {
  const large = bentKeyPackage(good, leaf({ credential: { credentialType: "basic", identity: new Uint8Array(8192) } }))
  expect(refusalWithPlace(() => parseKeyPackage(large))).toBe("MLS_TOO_LARGE mls_key_package")
  expect(refusalWithPlace(() => parseKeyPackage(large, 2 ** 20))).toBe("MLS_TOO_LARGE leaf_node")
})

test("a key package of more than 8 KiB is refused at any message limit", () => {
  const large = bentKeyPackage(good, () => ({ extensions: [extension(7, 8000)] }))
  expect(refusalWithPlace(() => parseKeyPackage(large, 2 ** 20))).toBe("MLS_TOO_LARGE key_package")
})

test("the last_resort extension is reported", () => {
  expect(parseKeyPackage(bentKeyPackage(good, () => ({ extensions: [extension(10)] }))).lastResort).toBe(true)
  expect(parseKeyPackage(good).lastResort).toBe(false)
})

test("a last resort of the engine is recognized and verifies", async () => {
  const made = await testEngine(suite).newKeyPackage(identity, { ...lifetime, isLastResort: true })
  const keyPackage = parseKeyPackage(made.keyPackage)
  expect(keyPackage.lastResort).toBe(true)
  expect(verifyKeyPackage(keyPackage)).toBe(true)
  const view = await testEngine(suite).inspectKeyPackage(made.keyPackage)
  expect(view.reference).toEqual(made.reference)
})

test.each<[string, (keyPackage: KeyPackage) => object]>([
  ["another lifetime", leaf({ lifetime: { notBefore: 0n, notAfter: 1n } })],
  ["another credential", leaf({ credential: { credentialType: "basic", identity: new Uint8Array(3) } })],
  ["an extension", () => ({ extensions: [extension(10)] })],
  ["another init key", () => ({ initKey: suite.random(32) })],
  ["no leaf signature", leaf({ signature: new Uint8Array(64) })],
  ["no signature", () => ({ signature: new Uint8Array(64) })],
])("a key package that was given %s does not verify", (_, bend) => {
  expect(verifyKeyPackage(parseKeyPackage(good))).toBe(true)
  expect(verifyKeyPackage(parseKeyPackage(bentKeyPackage(good, bend)))).toBe(false)
})

test("a validly signed key package with an invalid leaf does not verify", async () => {
  const { keyPackage } = theirs(good, "mls_key_package")
  const leafNode = { ...keyPackage.leafNode, lifetime: { notBefore: 0n, notAfter: 2n ** 63n } }
  const signed = await signKeyPackage({ ...keyPackage, leafNode }, identity.key, testKit(suite).cs.signature)
  const bytes = encodeMlsMessage({ version: "mls10", wireformat: "mls_key_package", keyPackage: signed })
  expect(verifyKeyPackage(parseKeyPackage(bytes))).toBe(false)
  const again = await signKeyPackage(keyPackage, identity.key, testKit(suite).cs.signature)
  const same = encodeMlsMessage({ version: "mls10", wireformat: "mls_key_package", keyPackage: again })
  expect(verifyKeyPackage(parseKeyPackage(same))).toBe(true)
})
