import {
  type DeviceCredentialBodyV1,
  DeviceCredentialBodyV1Schema,
} from "@signet/proto/credential/v1/device_credential"
import { concat, equalBytes } from "../../bytes.ts"
import { maxCredentialSeconds, verifyDeviceCredential } from "../../device-credential.ts"
import { hash } from "../../hash.ts"
import * as world from "../world.ts"
import { envelope, partsOf, type Refusal, resigned, signedRaw, table, tampered } from "./refusal.ts"

const { credentialBytes, credentialFields, credentialKey, now } = world
const schema = DeviceCredentialBodyV1Schema
const { notBefore, notAfter } = credentialFields
const body = partsOf(credentialBytes).body
const credentialHash = hash("device-credential", credentialBytes)
const changed = (change: Partial<DeviceCredentialBodyV1>) => resigned(schema, credentialBytes, change, credentialKey)
const revoked = { isRevoked: (other: Uint8Array) => equalBytes(other, credentialHash) }
const tenantless = changed({ tenantId: new Uint8Array(0) })

export const credentialRefusals: readonly Refusal[] = table(
  "credential",
  verifyDeviceCredential,
  world.credentialExpectation,
  [
    ["a good credential", credentialBytes, {}, "ok"],
    ["outside any tenant, as expected", tenantless, { tenantId: undefined }, "ok"],
    ["valid for 400 days", changed({ notAfter: notBefore + maxCredentialSeconds }), {}, "ok"],
    ["not an envelope", Uint8Array.of(1), {}, "CRED_MALFORMED"],
    ["nothing", new Uint8Array(0), {}, "CRED_MALFORMED"],
    ["a byte after the envelope", concat(credentialBytes, Uint8Array.of(0)), {}, "CRED_MALFORMED"],
    [
      "a byte after the body, well signed",
      signedRaw(schema, concat(body, Uint8Array.of(0)), credentialKey),
      {},
      "CRED_MALFORMED",
    ],
    [
      "a body longer than any credential",
      signedRaw(schema, concat(body, new Uint8Array(14)), credentialKey),
      {},
      "CRED_MALFORMED",
    ],
    [
      "valid for 400 days and a second",
      changed({ notAfter: notBefore + maxCredentialSeconds + 1n }),
      {},
      "CRED_MALFORMED",
    ],
    ["valid never", changed({ notAfter: notBefore }), {}, "CRED_MALFORMED"],
    [
      "a leaf key of small order",
      changed({ leafSignatureKey: Uint8Array.of(1, ...new Uint8Array(31)) }),
      {},
      "CRED_MALFORMED",
    ],
    [
      "signed by a key that no set holds",
      resigned(schema, credentialBytes, {}, world.strangerKey),
      {},
      "CRED_UNKNOWN_ISSUER_KEY",
    ],
    ["signed by the leaf itself", resigned(schema, credentialBytes, {}, world.leaf), {}, "CRED_UNKNOWN_ISSUER_KEY"],
    [
      "signed by the key for proofs",
      resigned(schema, credentialBytes, {}, world.proofKey),
      {},
      "CRED_ISSUER_KEY_PURPOSE",
    ],
    [
      "signed by the key for receipts",
      resigned(schema, credentialBytes, {}, world.receiptKey),
      {},
      "CRED_ISSUER_KEY_PURPOSE",
    ],
    ["a membership proof in its place", world.proofBytes, {}, "CRED_MALFORMED"],
    [
      "a malformed body with an invalid signature",
      envelope({ ...partsOf(credentialBytes), body: world.id(1) }),
      {},
      "CRED_BAD_SIGNATURE",
    ],
    ["a malformed body with a valid signature", signedRaw(schema, world.id(1), credentialKey), {}, "CRED_MALFORMED"],
    ["tampered signature", tampered(credentialBytes), {}, "CRED_BAD_SIGNATURE"],
    [
      "tampered body",
      envelope({ ...partsOf(credentialBytes), body: partsOf(changed({ flags: 3 })).body }),
      {},
      "CRED_BAD_SIGNATURE",
    ],
    ["of another issuer", changed({ issuerId: world.id(9) }), {}, "CRED_WRONG_ISSUER"],
    [
      "signed by a key that has retired",
      resigned(schema, credentialBytes, {}, world.retiredKey),
      {},
      "CRED_ISSUER_KEY_NOT_VALID",
    ],
    [
      "signed by it, a second before it retired",
      resigned(schema, credentialBytes, {}, world.retiredKey),
      { atSeconds: now - 1n },
      "ok",
    ],
    ["of another tenant", credentialBytes, { tenantId: world.id(9) }, "CRED_WRONG_TENANT"],
    ["of a tenant where none is expected", credentialBytes, { tenantId: undefined }, "CRED_WRONG_TENANT"],
    ["of no tenant where one is expected", tenantless, {}, "CRED_WRONG_TENANT"],
    ["of another app", credentialBytes, { appId: world.id(9) }, "CRED_WRONG_APP"],
    ["on another leaf key", credentialBytes, { leafKey: world.otherLeaf.publicKey }, "CRED_LEAF_KEY_MISMATCH"],
    ["at its first second", credentialBytes, { atSeconds: notBefore }, "ok"],
    ["a second before", credentialBytes, { atSeconds: notBefore - 1n }, "CRED_NOT_YET_VALID"],
    ["at its last second", credentialBytes, { atSeconds: notAfter - 1n }, "ok"],
    ["at its expiry", credentialBytes, { atSeconds: notAfter }, "CRED_EXPIRED"],
    ["revoked", credentialBytes, revoked, "CRED_REVOKED", { revoked: [credentialHash] }],
    ["another one revoked", tenantless, { ...revoked, tenantId: undefined }, "ok", { revoked: [credentialHash] }],
  ],
)
