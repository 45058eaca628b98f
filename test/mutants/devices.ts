import type { Mutant } from "./mutant.ts"

const proof = "server/rpc/interceptors/device-proof.ts"
const uploaded = "server/rpc/messaging/uploaded.ts"
const effects = "server/rpc/messaging/revocation-effects.ts"
const proofs = "test/attack/device-proofs.test.ts"
const packages = "test/attack/key-packages.test.ts"
const claims = "test/attack/claims.test.ts"

/** Faults in who is a device, and in which key packages are given away. */
export const deviceMutants: readonly Mutant[] = [
  {
    fault: "a device proof is good twice",
    file: proof,
    from: 'if (!isNew) throw invalid("DEVICE_PROOF_REPLAYED")',
    to: "",
    test: proofs,
    name: "a proof is needed, and is good once",
  },
  {
    fault: "no device proof is one",
    file: proof,
    from: 'if (header === null) throw new Refused("PROOF_OF_POSSESSION_REQUIRED")',
    to: "if (header === null) return",
    test: proofs,
    name: "a proof is needed, and is good once",
  },
  {
    fault: "a device lives as long as its token",
    file: proof,
    from: 'if (device.status === "REVOKED") throw new Refused("DEVICE_REVOKED")',
    to: "",
    test: proofs,
    name: "of a device that was revoked under it is refused in each call",
  },
  {
    fault: "a device renews another",
    file: "server/rpc/messaging/device-service.ts",
    from: 'if (request.deviceId !== id) throw new Refused("RESOURCE_UNRESOLVED")',
    to: "",
    test: proofs,
    name: "may not renew another device, nor one that is not: both alike",
  },
  {
    fault: "a renewal breaks what is under way",
    file: "server/rpc/messaging/renew.ts",
    from: "isSameKey ? device.previousKey : { leafKey: device.leafKey, expiresAtMs: device.expiresAtMs }",
    to: "device.previousKey",
    test: proofs,
    name: "by the key before a renewal is taken until that key's credential has ended",
  },
  {
    fault: "a device uploads another's packages",
    file: uploaded,
    from: 'if (!equalBytes(body.deviceId, idBytes(device.id))) throw refusedFor("CREDENTIAL_INVALID", "CRED_WRONG_DEVICE")',
    to: "",
    test: packages,
    name: "of another device's package is refused",
  },
  {
    fault: "a credential that was replaced is still given out",
    file: uploaded,
    from: 'if (!equalBytes(hash, device.credentialHash)) throw refusedFor("CREDENTIAL_INVALID", "CRED_NOT_NEWEST")',
    to: "",
    test: packages,
    name: "of a package with a former credential is refused",
  },
  {
    fault: "nobody looks at a package's signatures",
    file: uploaded,
    from: 'if (!verifyKeyPackage(opened, deps.verify)) throw invalid("KEY_PACKAGE_SIGNATURE")',
    to: "",
    test: packages,
    name: "of a package whose signature is not good is refused",
  },
  {
    fault: "a package lives as long as it says",
    file: uploaded,
    from: 'if (fault !== undefined) throw invalid("KEY_PACKAGE_LIFETIME")',
    to: "",
    test: packages,
    name: "of a package that lives longer than 35 days is refused",
    row: "of a package %s is refused",
  },
  {
    fault: "a package of one use is a last resort",
    file: uploaded,
    from: 'if (opened.lastResort !== isLastResort) throw invalid("KEY_PACKAGE_LAST_RESORT")',
    to: "",
    test: packages,
    name: "of a package that is not of the use that is said is refused",
  },
  {
    fault: "a claim is of whatever device there is",
    file: "server/rpc/messaging/claiming.ts",
    from: 'if (found?.appId !== device.appId || found.tenantId !== device.tenantId) throw new Refused("RESOURCE_UNRESOLVED")',
    to: 'if (found === undefined) throw new Refused("RESOURCE_UNRESOLVED")',
    test: claims,
    name: "of users and devices elsewhere, or that are not, is refused alike",
  },
  {
    fault: "whoever has an id is a user",
    file: "server/rpc/messaging/people.ts",
    from: "if (active.length !== asked.length) throw unresolved()",
    to: "",
    test: claims,
    name: "of users and devices elsewhere, or that are not, is refused alike",
  },
  {
    fault: "a revoked device can be added",
    file: effects,
    from: 'await store.keyPackages.retire(deviceId, "all")',
    to: "",
    test: "test/story/devices.test.ts",
    name: "a device registers, is in the next token, renews its key, and ends",
  },
  {
    fault: "a revoked device joins",
    file: effects,
    from: "await store.welcomes.voidAll(deviceId)",
    to: "",
    test: claims,
    name: "is void once its device is revoked, and members are told to remove it",
  },
  {
    fault: "a revocation is done when it was begun",
    file: effects,
    from: "for (const id of ids.slice(0, most)) await direct(deps, revoked, id)",
    to: "",
    test: "test/story/device-revocation.test.ts",
    name: "is removed from every conversation by whoever is there, also when the process stopped half way",
  },
  {
    fault: "a key set that has ended is signed under",
    file: "server/keys/issuer-keys.ts",
    from: 'if (error instanceof CanonicalError && error.code === "ISSUER_KEYS_EXPIRED") adopted = undefined',
    to: "",
    test: "server/keys/issuer-keys.test.ts",
    name: "without a set nothing is signed; an older set is not taken, and one that has ended signs nothing",
  },
]
