// Verifies the credential of a leaf and the keys that the leaf signs with.
import { verifyDeviceCredential } from "@signet/canonical/device-credential"
import { Refused } from "@signet/kernel/errors"
import { idOf } from "@signet/kernel/ids"
import { proofKeys } from "@signet/kernel/messaging/device"
import type { NewLeaf } from "@signet/kernel/messaging/roster"
import type { GroupContext } from "../../../../framing/group-info.ts"
import { fitsGroup } from "../../../../framing/group-info.ts"
import type { LeafNode } from "../../../../framing/leaf-node.ts"
import { refusedFor } from "../../refusing.ts"
import { type CallJudge, expectedOf, type Judge } from "./judge.ts"
import { judging } from "./refusing.ts"

/**
 * The device of a leaf. Its credential must be valid now, for this place and for the leaf's own key.
 *
 * @throws Refused CREDENTIAL_REFUSED; MLS_MALFORMED for a leaf that does not support the group's extensions.
 */
export function deviceOfLeaf(judge: Omit<Judge, "device">, leaf: LeafNode, group: GroupContext): NewLeaf {
  const leafKey = leaf.signatureKey
  const { body, hash } = judging(() => verifyDeviceCredential(leaf.identity, { ...expectedOf(judge), leafKey }))
  if (!fitsGroup(leaf, group))
    throw new Refused("MLS_MALFORMED", { message: "a leaf does not support the group's cipher suite or extensions" })
  return { deviceId: idOf("dev", body.deviceId), userId: idOf("prn", body.userId), credentialHash: hash }
}

/**
 * As `deviceOfLeaf`, for a leaf that must be the caller's own. @throws Refused CREDENTIAL_REFUSED for another device's
 * leaf.
 */
export function ownLeaf(judge: Judge, leaf: LeafNode, group: GroupContext): NewLeaf {
  const found = deviceOfLeaf(judge, leaf, group)
  const { device } = judge
  if (found.deviceId !== device.id || found.userId !== device.userId) {
    throw new Refused("CREDENTIAL_REFUSED", { message: "the leaf belongs to another device" })
  }
  return found
}

/**
 * The signature keys of a member's leaf: the device's key, and its previous key for a leaf that was not renewed since.
 */
export const leafKeysOf = ({ device, nowMs }: CallJudge): readonly Uint8Array[] => proofKeys(device, nowMs)

/** The refusal of a device whose credential has expired. */
export const expired = (): Refused => refusedFor("CREDENTIAL_REFUSED", "CRED_EXPIRED")

/** The refusal of a message with an invalid signature: no member could process it. */
export const unsigned = (what: string): Refused =>
  new Refused("MLS_MALFORMED", {
    message: `${what} is not signed by its sender`,
    metadata: { code: "MLS_BAD_SIGNATURE" },
  })
