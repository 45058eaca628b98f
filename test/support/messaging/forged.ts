// What a dishonest device can make: valid key packages and messages with something changed, and signed again.
import { type KeyPackage, signKeyPackage } from "ts-mls/keyPackage.js"
import { signLeafNodeKeyPackage } from "ts-mls/leafNode.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import { makeKit } from "../../../clients/core/messaging/engine/kit.ts"
import type { Identity } from "../../../clients/core/messaging/mls.ts"
import { bent, theirs } from "../../../server/framing/testing/bent.ts"
import { deviceIn, nowSeconds, suite } from "./papers.ts"

const kit = makeKit(suite, { nowSeconds, deviceOf: deviceIn })

/** A key package with something changed, signed by the identity as a whole and in its leaf. */
export async function forgedKeyPackage(
  bytes: Uint8Array,
  identity: Identity,
  bend: (keyPackage: KeyPackage) => object,
): Promise<Uint8Array> {
  const { signature: _, ...changed } = bent(theirs(bytes, "mls_key_package").keyPackage, bend)
  const { signature: __, ...leaf } = changed.leafNode
  const leafNode = await signLeafNodeKeyPackage(leaf, identity.key, kit.cs.signature)
  const keyPackage = await signKeyPackage({ ...changed, leafNode }, identity.key, kit.cs.signature)
  return encodeMlsMessage({ version: "mls10", wireformat: "mls_key_package", keyPackage })
}

/** A commit with something changed; its signature and its tags are no longer good. */
export function bentCommit(
  bytes: Uint8Array,
  bend: (content: { epoch: bigint; groupId: Uint8Array }) => object,
): Uint8Array {
  const { publicMessage } = theirs(bytes, "mls_public_message")
  return encodeMlsMessage({
    version: "mls10",
    wireformat: "mls_public_message",
    publicMessage: { ...publicMessage, content: bent(publicMessage.content, bend) },
  })
}

/** An application message with something of its frame changed. */
export function bentApplication(bytes: Uint8Array, bend: object): Uint8Array {
  const { privateMessage } = theirs(bytes, "mls_private_message")
  return encodeMlsMessage({
    version: "mls10",
    wireformat: "mls_private_message",
    privateMessage: bent(privateMessage, () => bend),
  })
}

/** A Welcome for nobody, or for some of those that it was for. */
export function bentWelcome(bytes: Uint8Array, keep: number): Uint8Array {
  const { welcome } = theirs(bytes, "mls_welcome")
  return encodeMlsMessage({
    version: "mls10",
    wireformat: "mls_welcome",
    welcome: { ...welcome, secrets: welcome.secrets.slice(0, keep) },
  })
}
