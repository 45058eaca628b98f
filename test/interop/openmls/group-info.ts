import type { Extension } from "ts-mls/extension.js"
import { signGroupInfo } from "ts-mls/groupInfo.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import { makeKit } from "../../../clients/core/messaging/engine/kit.ts"
import { theirs } from "../../../server/framing/testing/bent.ts"
import { deviceIn, nowSeconds, suite } from "../../support/messaging/device-parts.ts"

const { cs } = makeKit(suite, { nowSeconds, deviceOf: deviceIn })
const isExternalPub = ({ extensionType }: Extension) => extensionType === "external_pub"

/**
 * OpenMLS puts an external_pub into every GroupInfo, and this service takes none: nobody joins by an external commit.
 *
 * @param groupInfo MLSMessage. @param seed Of its signer.
 */
export async function withoutExternalPub(groupInfo: Uint8Array, seed: Uint8Array): Promise<Uint8Array> {
  const { signature: _, ...info } = theirs(groupInfo, "mls_group_info").groupInfo
  const extensions = info.extensions.filter((extension) => !isExternalPub(extension))
  const signed = await signGroupInfo({ ...info, extensions }, seed, cs.signature)
  return encodeMlsMessage({ version: "mls10", wireformat: "mls_group_info", groupInfo: signed })
}
