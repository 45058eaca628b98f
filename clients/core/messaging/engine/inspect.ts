import { equal } from "../crypto/bytes.ts"
import { checkKeyPackage, readKeyPackage } from "./key-package.ts"
import type { Kit } from "./kit.ts"
import { credentialOf } from "./leaf.ts"
import { decodeMessage, encodeMessage } from "./message-bytes.ts"
import { MlsError } from "./refusal.ts"
import { decodeStrictly, maxBytes, strictMessage } from "./strict.ts"
import { encodeGroupContext, type GroupContext, makeKeyPackageRef } from "./ts-mls.ts"

/** The claims of a key package about its device. */
export interface KeyPackageView {
  /** KeyPackageRef, 32 bytes. */
  readonly reference: Uint8Array
  readonly credential: Uint8Array
  readonly signatureKey: Uint8Array
  /** Unix seconds: notBefore <= now < notAfter. */
  readonly notBefore: number
  readonly notAfter: number
}

/**
 * Checks that a key package is canonical, signed by its own leaf, and valid now. The caller must verify its credential.
 *
 * @throws MlsError
 */
export async function inspectKeyPackage(kit: Kit, bytes: Uint8Array): Promise<KeyPackageView> {
  const keyPackage = readKeyPackage(bytes)
  const { leafNode } = keyPackage
  const place = { groupId: new Uint8Array(), leaf: 0, extensions: [] }
  await checkKeyPackage(kit, keyPackage, place, kit.nowSeconds())
  return {
    reference: await makeKeyPackageRef(keyPackage, kit.cs.hash),
    credential: credentialOf(leafNode),
    signatureKey: leafNode.signaturePublicKey,
    notBefore: Number(leafNode.lifetime.notBefore),
    notAfter: Number(leafNode.lifetime.notAfter),
  }
}

/** The frame of a message, which is neither encrypted nor authenticated. */
export interface Frame {
  readonly kind: "commit" | "application"
  readonly groupId: Uint8Array
  readonly epoch: bigint
  readonly aad: Uint8Array
}

/**
 * Reads the frame of a commit or an application message, to order it before it is processed.
 *
 * @throws MlsError MLS_WRONG_WIRE_FORMAT for anything else: encrypted handshakes, bare proposals, Welcomes.
 */
export function frameOf(bytes: Uint8Array): Frame {
  const message = decodeStrictly(bytes, maxBytes.commit, decodeMessage, encodeMessage, "message")
  if (message.wireformat === "mls_public_message" && message.publicMessage.content.contentType === "commit") {
    const { groupId, epoch, authenticatedData: aad } = message.publicMessage.content
    return { kind: "commit", groupId, epoch, aad }
  }
  if (message.wireformat === "mls_private_message" && message.privateMessage.contentType === "application") {
    const { groupId, epoch, authenticatedData: aad } = message.privateMessage
    return { kind: "application", groupId, epoch, aad }
  }
  throw new MlsError("MLS_WRONG_WIRE_FORMAT", "neither a commit nor an application message")
}

/** True if a GroupInfo has exactly this group context and confirmation tag. */
export function groupInfoIsOf(bytes: Uint8Array, context: GroupContext, confirmationTag: Uint8Array): boolean {
  const { groupInfo } = strictMessage(bytes, maxBytes.welcome, "mls_group_info")
  const isContext = equal(encodeGroupContext(groupInfo.groupContext), encodeGroupContext(context))
  return isContext && equal(groupInfo.confirmationTag, confirmationTag)
}
