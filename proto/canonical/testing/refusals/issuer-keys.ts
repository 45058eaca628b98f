import { create } from "@bufbuild/protobuf"
import { IssuerKeySetBodyV1Schema, IssuerKeyV1Schema, KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { SignatureScheme } from "@signet/proto/credential/v1/signed"
import { concat } from "../../bytes.ts"
import { hash, keyIdOf } from "../../hash.ts"
import { type IssuerKeySetExpectation, verifyIssuerKeySet } from "../../issuer-keys.ts"
import * as world from "../world.ts"
import { partsOf, type Refusal, resigned, signedRaw, table, tampered } from "./refusal.ts"

const { keySetBytes, keySetFields, root, now, issuerKeys } = world
const schema = IssuerKeySetBodyV1Schema
const expected: IssuerKeySetExpectation = { roots: [root.publicKey], issuerId: world.issuerId, atSeconds: now }

const keyOf = (key: Uint8Array, change: object = {}) =>
  create(IssuerKeyV1Schema, {
    keyId: keyIdOf(key),
    scheme: SignatureScheme.ED25519,
    key,
    purpose: KeyPurpose.CREDENTIAL,
    notBefore: now,
    notAfter: now + 1n,
    ...change,
  })
const setOf = (...keys: ReturnType<typeof keyOf>[]) => resigned(schema, keySetBytes, { keys }, root)
const stranger = world.strangerKey.publicKey
/** The neutral element: under this key anyone can sign anything. */
const smallOrder = Uint8Array.of(1, ...new Uint8Array(31))

export const issuerKeysRefusals: readonly Refusal[] = table("issuer-keys", verifyIssuerKeySet, expected, [
  ["a good key set", keySetBytes, {}, "ok"],
  ["the very set that was seen", keySetBytes, { seen: { version: issuerKeys.version, hash: issuerKeys.hash } }, "ok"],
  ["a newer set than the one seen", keySetBytes, { seen: { version: 6n, hash: world.bytes32(1) } }, "ok"],
  ["one of two pinned roots", keySetBytes, { roots: [stranger, root.publicKey] }, "ok"],
  ["not an envelope", Uint8Array.of(1), {}, "ISSUER_KEYS_MALFORMED"],
  [
    "a trailing byte in the body",
    signedRaw(schema, concat(partsOf(keySetBytes).body, Uint8Array.of(0)), root),
    {},
    "ISSUER_KEYS_MALFORMED",
  ],
  [
    "a key twice, with two purposes",
    setOf(keyOf(stranger), keyOf(stranger, { purpose: KeyPurpose.PROOF })),
    {},
    "ISSUER_KEYS_MALFORMED",
  ],
  ["a root key among the keys", setOf(keyOf(root.publicKey)), {}, "ISSUER_KEYS_MALFORMED"],
  [
    "a key id that is not the key's",
    setOf(keyOf(stranger, { keyId: keyIdOf(root.publicKey) })),
    {},
    "ISSUER_KEYS_MALFORMED",
  ],
  ["a key of small order", setOf(keyOf(smallOrder)), {}, "ISSUER_KEYS_MALFORMED"],
  ["a key that is never valid", setOf(keyOf(stranger, { notAfter: now })), {}, "ISSUER_KEYS_MALFORMED"],
  [
    "a set that is never valid",
    resigned(schema, keySetBytes, { notAfter: keySetFields.notBefore }, root),
    {},
    "ISSUER_KEYS_MALFORMED",
  ],
  [
    "signed by a root that is not pinned",
    resigned(schema, keySetBytes, {}, world.strangerKey),
    {},
    "ISSUER_KEYS_UNKNOWN_ROOT",
  ],
  ["no pinned root at all", keySetBytes, { roots: [] }, "ISSUER_KEYS_UNKNOWN_ROOT"],
  [
    "signed by a key of the set itself",
    resigned(schema, keySetBytes, {}, world.credentialKey),
    {},
    "ISSUER_KEYS_UNKNOWN_ROOT",
  ],
  ["tampered", tampered(keySetBytes), {}, "ISSUER_KEYS_BAD_SIGNATURE"],
  ["of another issuer", keySetBytes, { issuerId: world.id(9) }, "ISSUER_KEYS_WRONG_ISSUER"],
  ["at its first second", keySetBytes, { atSeconds: keySetFields.notBefore }, "ok"],
  ["a second before", keySetBytes, { atSeconds: keySetFields.notBefore - 1n }, "ISSUER_KEYS_NOT_YET_VALID"],
  ["at its last second", keySetBytes, { atSeconds: keySetFields.notAfter - 1n }, "ok"],
  ["at its expiry", keySetBytes, { atSeconds: keySetFields.notAfter }, "ISSUER_KEYS_EXPIRED"],
  ["rolled back", keySetBytes, { seen: { version: 8n, hash: world.bytes32(1) } }, "ISSUER_KEYS_ROLLBACK"],
  [
    "another set of the same version",
    keySetBytes,
    { seen: { version: 7n, hash: hash("issuer-keys", world.bytes32(1)) } },
    "ISSUER_KEYS_FORK",
  ],
])
