// Forgeries by a dishonest device: valid key packages and messages that are changed and signed again.
import { type KeyPackage, signKeyPackage } from "ts-mls/keyPackage.js"
import { signLeafNodeKeyPackage } from "ts-mls/leafNode.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import { makeKit } from "../../../clients/core/messaging/engine/kit.ts"
import type { Identity } from "../../../clients/core/messaging/mls.ts"
import { bent, theirs } from "../../../server/framing/testing/bent.ts"
import { deviceIn, nowSeconds, suite } from "./device-parts.ts"

const kit = makeKit(suite, { nowSeconds, deviceOf: deviceIn })

/** A changed key package, signed again by the identity, leaf included. */
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

/** A changed commit; its signature and tags become invalid. */
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

/** An application message with a changed frame. */
export function bentApplication(bytes: Uint8Array, bend: object): Uint8Array {
  const { privateMessage } = theirs(bytes, "mls_private_message")
  return encodeMlsMessage({
    version: "mls10",
    wireformat: "mls_private_message",
    privateMessage: bent(privateMessage, () => bend),
  })
}

/** A Welcome with only the first secrets. */
export function bentWelcome(bytes: Uint8Array, keep: number): Uint8Array {
  const { welcome } = theirs(bytes, "mls_welcome")
  return encodeMlsMessage({
    version: "mls10",
    wireformat: "mls_welcome",
    welcome: { ...welcome, secrets: welcome.secrets.slice(0, keep) },
  })
}
