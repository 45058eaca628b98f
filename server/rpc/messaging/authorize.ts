// Membership proofs: the kernel decides, key packages are claimed, the auth service signs.
import type { MessageInitShape } from "@bufbuild/protobuf"
import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { type ClaimId, type DecisionId, type DeviceId, newId, parseId } from "@signet/kernel/ids"
import type { ProofFacts } from "@signet/kernel/messaging/authority"
import { maxCount } from "@signet/kernel/messaging/limits"
import {
  type AddedDecision,
  decideAdded,
  decideMembership,
  type WantedChange,
} from "@signet/kernel/messaging/membership"
import type { ClaimRecord, Conversation, Directive, KeyPackageRecord, Leaf } from "@signet/kernel/messaging/records"
import { leafOf } from "@signet/kernel/messaging/roster"
import { NoKeyPackageSchema } from "@signet/proto/messaging/v1/conflict"
import type { AuthorizeMembershipRequest } from "@signet/proto/messaging/v1/conversation_service"
import type { AuthorizationSchema } from "@signet/proto/messaging/v1/records"
import { userOf } from "../call.ts"
import { otherEpoch } from "./append/outcome.ts"
import { deviceOf } from "./calling-device.ts"
import { claimFor } from "./claiming.ts"
import { countChange } from "./counted.ts"
import type { MessagingDeps } from "./deps.ts"
import { detail, detailed } from "./detailed.ts"
import { claimShape } from "./device-shape.ts"
import { conversationEvent } from "./events.ts"
import { limitExceeded } from "./refusing.ts"
import { requesterPaper } from "./requester-paper.ts"
import { seen, unresolved } from "./seen.ts"

type Authorization = MessageInitShape<typeof AuthorizationSchema>

/** What a proof is asked for: a change, the state that it starts from, and an id for the claim that it may need. */
export interface AskedChange {
  readonly change: WantedChange
  readonly baseEpoch: bigint
  readonly baseStateTag: Uint8Array | null
  /** `clm_…`, or empty. */
  readonly claimId: string
}

/** @throws Refused what the contract lists of AuthorizeMembership. */
export async function authorizeMembership(
  deps: MessagingDeps,
  context: HandlerContext,
  request: AuthorizeMembershipRequest,
): Promise<Authorization> {
  const conversation = await seen(deps, context, request.conversationId)
  await countChange(deps, context)
  const { baseEpoch, baseStateTag } = request
  return authorize(deps, context, conversation, {
    ...wanted(request),
    baseEpoch,
    baseStateTag: baseStateTag.length === 0 ? null : baseStateTag,
  })
}

/** Decides on one change of a conversation that the caller sees, and proves the decision. */
export async function authorize(
  deps: MessagingDeps,
  context: HandlerContext,
  conversation: Conversation,
  asked: AskedChange,
): Promise<Authorization> {
  const { baseEpoch, baseStateTag, change } = asked
  const { id: deviceId, userId } = deviceOf(context)
  const requester = { deviceId, userId }
  const decision = decideMembership({ conversation, requester, baseEpoch, baseStateTag, change })
  switch (decision.is) {
    case "epoch":
      throw await otherEpoch(deps, conversation, decision.reason, baseEpoch)
    case "refuse":
      throw decision.reason === "LIMIT_EXCEEDED" ? tooMany() : new Refused(decision.reason)
    case "remove": {
      const proof = await prove(deps, context, conversation, { ...decision, packages: [] })
      return { proof, removedDeviceIds: decision.leaves.map((leaf) => leaf.deviceId) }
    }
    case "add": {
      const id = claimIdOf(asked.claimId)
      const { claim, ticket } = await claimFor(deps, context, {
        id,
        conversationId: conversation.id,
        targets: decision.targets,
      })
      const packages = admitted(conversation, claim, decideAdded(conversation, deviceId, claim.packages))
      const proof = await prove(deps, context, conversation, { ...decision, leaves: [], packages })
      return { proof, claim: claimShape(claim, ticket), keyPackageRefs: packages.map(({ ref }) => ref) }
    }
  }
}

/** Who is to be added is looked up by the claim; who is to be removed is a leaf, or nobody. */
function wanted({ change }: AuthorizeMembershipRequest): { change: WantedChange; claimId: string } {
  switch (change.case) {
    case "add":
      return {
        change: {
          is: "add",
          userIds: change.value.userIds.map(userIdOf),
          deviceIds: change.value.deviceIds.map(deviceIdOf),
        },
        claimId: change.value.claimId,
      }
    case "remove":
      return {
        change: {
          is: "remove",
          userIds: change.value.userIds.map(userIdOf),
          deviceIds: change.value.deviceIds.map(deviceIdOf),
        },
        claimId: "",
      }
    case "carryOut": {
      const directiveId = parseId("dir", change.value.directiveId)
      if (directiveId === undefined) throw new Refused("NOT_FOUND")
      return { change: { is: "carryOut", directiveId }, claimId: change.value.claimId }
    }
    case "create":
      return { change: { is: "create" }, claimId: change.value.claimId }
    case undefined:
      throw new Refused("INVALID_FIELD", { metadata: { field: "change" } })
  }
}

const userIdOf = (text: string) => parseId("prn", text) ?? refuseUnresolved()
const deviceIdOf = (text: string): DeviceId => parseId("dev", text) ?? refuseUnresolved()

function refuseUnresolved(): never {
  throw unresolved()
}

function claimIdOf(text: string): ClaimId {
  const id = parseId("clm", text)
  if (id !== undefined) return id
  throw new Refused("INVALID_FIELD", { message: "somebody is added: name a claim", metadata: { field: "claim_id" } })
}

function admitted(conversation: Conversation, claim: ClaimRecord, added: AddedDecision): readonly KeyPackageRecord[] {
  if (added.is === "add") return added.packages
  switch (added.reason) {
    case "NO_KEY_PACKAGE":
      throw detailed(
        new Refused("NO_KEY_PACKAGE"),
        detail(NoKeyPackageSchema, { deviceIds: [...claim.withoutDeviceIds] }),
      )
    case "LIMIT_EXCEEDED":
      throw claim.packages.length > maxCount.subjectsPerCommit
        ? tooMany()
        : limitExceeded("leaves_per_conversation", conversation.maxLeaves)
    default:
      throw new Refused(added.reason)
  }
}

const tooMany = () => limitExceeded("subjects_per_commit", maxCount.subjectsPerCommit)

interface Proven {
  readonly op: Parameters<MessagingDeps["authority"]["issueProof"]>[0]["op"]
  readonly packages: readonly KeyPackageRecord[]
  readonly leaves: readonly Leaf[]
  readonly directive: Directive | null
}

/** Signs the decision, and keeps that it was made. */
async function prove(
  deps: MessagingDeps,
  context: HandlerContext,
  conversation: Conversation,
  { op, packages, leaves, directive }: Proven,
): Promise<Uint8Array> {
  const device = deviceOf(context)
  const nowMs = deps.clock.nowMs()
  const decisionId: DecisionId = newId("dcn", nowMs, deps.random.bytes(10))
  const own = leafOf(conversation.roster, device.id)
  // Before the first commit nobody has a leaf: the creator's is made of its newest credential.
  const requester = own?.credentialHash ?? device.credentialHash
  const facts: ProofFacts = {
    place: conversation,
    conversationId: conversation.id,
    mlsGroupId: conversation.mlsGroupId,
    op,
    baseEpoch: conversation.epoch,
    baseStateTag: conversation.state?.stateTag ?? null,
    added: packages.map(({ credentialHash, ref }) => ({ credentialHash, keyPackageRef: ref })),
    removed: leaves.map(({ credentialHash }) => credentialHash),
    requester: directive === null ? requester : null,
    decisionId,
    issuedAtMs: nowMs,
    policyVersion: BigInt(userOf(context).permVer),
  }
  const proof = await deps.authority.issueProof(facts, () => requesterPaper(deps, device, requester))
  const event = conversationEvent(deps, context, conversation, nowMs, {
    kind: "membership_proof.issued",
    subjectPrincipalId: directive?.userId ?? null,
  })
  await deps.accounts.audit([event])
  return proof.bytes
}
