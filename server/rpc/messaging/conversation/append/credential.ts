// Whose leaf a leaf is: the credential in it, and the signatures that it makes.
import { verifyDeviceCredential } from "@signet/canonical/device-credential"
import { Refused } from "@signet/kernel/errors"
import { idOf } from "@signet/kernel/ids"
import { proofKeys } from "@signet/kernel/messaging/device"
import type { NewLeaf } from "@signet/kernel/messaging/roster"
import type { GroupContext } from "../../../../framing/group-info.ts"
import { fitsGroup } from "../../../../framing/group-info.ts"
import type { LeafNode } from "../../../../framing/leaf-node.ts"
import { refusedFor } from "../../refusing.ts"
import { type Judge, papersOf } from "./judge.ts"
import { judging } from "./refusing.ts"

/**
 * The device that a leaf is of: its credential is good now, of this place, and for the leaf's own key.
 *
 * @throws Refused CREDENTIAL_REFUSED; MLS_MALFORMED for a leaf that the group's extensions are too much for.
 */
export function deviceOfLeaf(judge: Judge, leaf: LeafNode, group: GroupContext): NewLeaf {
  const leafKey = leaf.signatureKey
  const { body, hash } = judging(() => verifyDeviceCredential(leaf.identity, { ...papersOf(judge), leafKey }))
  if (!fitsGroup(leaf, group))
    throw new Refused("MLS_MALFORMED", { message: "a leaf does not support the group's cipher suite or extensions" })
  return { deviceId: idOf("dev", body.deviceId), userId: idOf("prn", body.userId), credentialHash: hash }
}

/** The same, of a leaf that has to be the caller's own. @throws Refused CREDENTIAL_REFUSED for another device's. */
export function ownLeaf(judge: Judge, leaf: LeafNode, group: GroupContext): NewLeaf {
  const found = deviceOfLeaf(judge, leaf, group)
  const { device } = judge
  if (found.deviceId !== device.id || found.userId !== device.userId) {
    throw new Refused("CREDENTIAL_REFUSED", { message: "the leaf belongs to another device" })
  }
  return found
}

/**
 * The keys that a member's leaf may sign with: the device's own, and the one before its last renewal for a leaf that
 * was not renewed since.
 */
export const leafKeysOf = ({ device, nowMs }: Judge): readonly Uint8Array[] => proofKeys(device, nowMs)

/** A device whose credential has expired says nothing. */
export const expired = (): Refused => refusedFor("CREDENTIAL_REFUSED", "CRED_EXPIRED")

/** A signature in a message does not verify: nobody could process it. */
export const unsigned = (what: string): Refused =>
  new Refused("MLS_MALFORMED", {
    message: `${what} is not signed by its sender`,
    metadata: { code: "MLS_BAD_SIGNATURE" },
  })
