import { issueDeviceCredential } from "@signet/canonical/device-credential"
import { credentialFields, credentialKey, day, now } from "../../../../proto/canonical/testing/world.ts"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { deviceIn } from "../checks/credential.ts"
import { type Identity, uncheckedEngine } from "../mls.ts"

const suite = makeNodeSuite()

/** An engine whose members have signed credentials of the fixed world, at the time of that world. */
export const signedEngine = uncheckedEngine({ suite, nowSeconds: () => Number(now), deviceOf: deviceIn })

/** A leaf's lifetime around the time of the fixed world. */
export const signedLifetime = { notBefore: Number(now - day), notAfter: Number(now + day) }

/** Creates a key pair with a signed credential: that of Alice's phone, with changes. */
export async function signedIdentity(
  change: Partial<typeof credentialFields> = {},
  by = credentialKey,
): Promise<Identity> {
  const { seed, publicKey } = await suite.signatureKeyPair()
  const credential = await issueDeviceCredential({ ...credentialFields, leafSignatureKey: publicKey, ...change }, by)
  return { credential, signatureKey: publicKey, key: seed }
}
