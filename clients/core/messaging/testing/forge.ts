import { createContentCommitSignature, type FramedContentCommit } from "ts-mls/framedContent.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import { protectPublicMessage } from "ts-mls/messageProtectionPublic.js"
import type { Proposal } from "ts-mls/proposal.js"
import type { ProposalOrRef } from "ts-mls/proposalOrRefType.js"
import type { Sender } from "ts-mls/sender.js"
import type { UpdatePath } from "ts-mls/updatePath.js"
import type { Suite } from "../crypto/suite.ts"
import { type Kit, makeKit } from "../engine/kit.ts"
import { type GroupState, opened } from "../engine/state.ts"
import { deviceOf, today } from "./our-seat.ts"

export function testKit(suite: Suite): Kit {
  return makeKit(suite, { nowSeconds: () => today, deviceOf })
}

export interface Forgery {
  readonly proposals?: readonly (Proposal | ProposalOrRef)[]
  readonly path?: UpdatePath
  readonly sender?: Sender
}

/**
 * A commit that a dishonest member can send: whatever content, correctly signed and tagged.
 * Its confirmation tag is wrong, so nobody who gets as far as checking it accepts it.
 */
export async function forgeCommit(suite: Suite, state: GroupState, forgery: Forgery): Promise<Uint8Array> {
  const { context, ownLeaf, identityKey } = opened(state)
  const { cs } = testKit(suite)
  const proposals = (forgery.proposals ?? []).map((entry): ProposalOrRef => {
    return "proposalOrRefType" in entry ? entry : { proposalOrRefType: "proposal", proposal: entry }
  })
  const { framedContent, signature } = await createContentCommitSignature(
    context,
    "mls_public_message",
    { proposals, path: forgery.path },
    forgery.sender ?? { senderType: "member", leafIndex: ownLeaf },
    new Uint8Array(),
    identityKey,
    cs.signature,
  )
  return frame(suite, state, framedContent, signature)
}

async function frame(suite: Suite, state: GroupState, content: FramedContentCommit, signature: Uint8Array) {
  const { context, epochSecrets } = opened(state)
  const auth = { contentType: "commit", signature, confirmationTag: new Uint8Array(32) } as const
  const whole = { wireformat: "mls_public_message", content, auth } as const
  const publicMessage = await protectPublicMessage(epochSecrets.membership, context, whole, testKit(suite).cs)
  return encodeMlsMessage({ version: "mls10", wireformat: "mls_public_message", publicMessage })
}
