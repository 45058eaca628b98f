import { buildConversationBinding } from "@signet/canonical/conversation-binding"
import { ConversationKind as BindingKind } from "@signet/proto/credential/v1/envelope_aad"
import type { Context } from "../context.ts"
import { nowSeconds } from "../deps.ts"
import { bytesOfId } from "../ids.ts"
import { type LocalGroup, treeHashOf } from "../state/stored-conversation.ts"

const day = 86_400

/** The conversation and position of a new group. */
export interface NewGroup {
  readonly conversationId: string
  readonly mlsGroupId: Uint8Array
  readonly isDirect: boolean
  /** 0, or the epoch of the group that it replaces. */
  readonly epoch: bigint
  /** The log up to this sequence number precedes the group. */
  readonly processedSeq: bigint
}

/** Creates a group with only this device. Its first commit adds the other members. */
export async function newGroup(context: Context, at: NewGroup): Promise<LocalGroup> {
  const { owner, device, engine } = context
  const now = nowSeconds(context)
  const identity = device.identity()
  const group = await engine.createGroup({
    groupId: at.mlsGroupId,
    identity,
    binding: buildConversationBinding({
      tenantId: owner.tenant,
      appId: owner.app,
      conversationId: bytesOfId("cnv", at.conversationId),
      kind: at.isDirect ? BindingKind.DIRECT : BindingKind.GROUP,
    }),
    notBefore: now - 3_600,
    notAfter: now + 30 * day,
    epoch: at.epoch,
  })
  return {
    group,
    processedSeq: at.processedSeq,
    receipt: "first",
    leafRenewedAt: now,
    identityKey: identity.signatureKey,
    treeHash: treeHashOf({ group }),
  }
}
