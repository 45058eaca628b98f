import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { issueIssuerKeySet } from "../../../../proto/canonical/issuer-keys.ts"
import * as world from "../../../../proto/canonical/testing/world.ts"

/** A set of the fixed world that expired while the program ran. */
export const expiredKeySet = await issueIssuerKeySet({ ...world.keySetFields, notAfter: world.now }, world.root)

/** The next key set of the fixed world. @param key A public key that the service has rotated to, besides the former ones. */
export function nextKeySet(key?: Uint8Array, purpose: KeyPurpose = KeyPurpose.PROOF): Promise<Uint8Array> {
  const { keys, setVersion } = world.keySetFields
  const rotated = key === undefined ? [] : keys.slice(0, 1).map((one) => ({ ...one, key, purpose }))
  return issueIssuerKeySet(
    { ...world.keySetFields, setVersion: setVersion + 1n, keys: [...keys, ...rotated] },
    world.root,
  )
}
