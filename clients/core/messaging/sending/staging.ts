import { create } from "@bufbuild/protobuf"
import { buildEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { type StagedCommit, StagedCommitSchema } from "@signet/proto/client/v1/records"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import {
  type Authorized,
  allowedKeyPackages,
  checkAuthorizedChange,
  checkKeyPackage,
  verifyAuthorization,
} from "../checks/authorization.ts"
import { realmOf } from "../checks/credential.ts"
import { verificationContextOf } from "../checks/verification-context.ts"
import type { Conversation } from "../context.ts"
import { nowSeconds } from "../deps.ts"
import { isMessagingError } from "../errors.ts"
import { bytesOfId } from "../ids.ts"
import { type CommitOptions, type StagedCommit as EngineCommit, encodeEpoch, encodeSecrets, MlsError } from "../mls.ts"
import { rethrowAs } from "../rethrow.ts"
import type { LocalGroup, StoredConversation } from "../state/stored-conversation.ts"

/** The content of a commit: an authorized change, or new keys for our leaf. */
export type Plan = Authorized | "update"

/**
 * Verifies a plan and creates its commit. The caller stores the commit before it is sent.
 *
 * @throws MessagingError ANSWER_REFUSED
 */
export async function stageCommit(
  conversation: Conversation,
  stored: StoredConversation & { readonly local: LocalGroup },
  intentId: string,
  plan: Plan,
): Promise<StagedCommit> {
  const proof = plan === "update" ? undefined : plan.authorization.proof
  const { local } = stored
  const aad = buildEnvelopeAad({
    conversationId: bytesOfId("cnv", conversation.id),
    kind: EnvelopeKind.COMMIT,
    membershipProof: proof,
    lastReceiptHash: local.receipt === "first" ? undefined : local.receipt.hash,
  })
  const options: CommitOptions = { aad, ...(proof === undefined ? {} : { proof }) }
  const made = await rethrowAs("ANSWER_REFUSED", () => make(conversation, stored, plan, options))
  const renewed = plan === "update" ? conversation.device.identity() : undefined
  return create(StagedCommitSchema, {
    intentId,
    epoch: local.group.epoch,
    idempotencyKey: conversation.random.bytes(16),
    commitHash: hash("commit", made.commit),
    commit: made.commit,
    groupInfo: made.groupInfo,
    ...(made.welcome === undefined ? {} : { welcome: made.welcome }),
    nextTree: encodeEpoch(made.next),
    nextState: encodeSecrets(made.next),
    claimTickets: plan !== "update" && plan.authorization.claim ? [plan.authorization.claim.ticket] : [],
    nextIdentityKey: renewed?.signatureKey ?? local.identityKey,
    renewsLeaf: made.welcome === undefined,
  })
}

/** True if a claimed key package has expired, such as after a restart months later. */
export const isStaleClaim = (error: unknown): boolean =>
  isMessagingError(error, "ANSWER_REFUSED") &&
  error.cause instanceof MlsError &&
  error.cause.reason === "MLS_BAD_KEY_PACKAGE"

async function make(
  conversation: Conversation,
  { record, local: { group } }: StoredConversation & { readonly local: LocalGroup },
  plan: Plan,
  options: CommitOptions,
): Promise<EngineCommit> {
  const { engine } = conversation
  if (plan === "update") return engine.update(group, { ...options, identity: conversation.device.identity() })
  if (record === undefined) throw new TypeError("a group has a record")
  const proof = verifyAuthorization(verificationContextOf(conversation, conversation.id, record), group, plan)
  const claimed = allowedKeyPackages(plan.authorization)
  const realm = realmOf(conversation)
  const added = await Promise.all(
    claimed.map(async (one) => {
      const view = await engine.inspectKeyPackage(one.keyPackage)
      return checkKeyPackage(realm, one, view, plan.isAsked, nowSeconds(conversation))
    }),
  )
  const removed = checkAuthorizedChange(group, plan, proof, added)
  if (added.length === 0) return engine.remove(group, removed, options)
  return engine.add(
    group,
    claimed.map(({ keyPackage }) => keyPackage),
    options,
  )
}
