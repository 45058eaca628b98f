// Issues membership proofs: the kernel decides, key packages are claimed, the auth service signs.
import type { MessageInitShape } from "@bufbuild/protobuf"
import type { HandlerContext } from "@connectrpc/connect"
import { concat } from "@signet/canonical/bytes"
import { Refused } from "@signet/kernel/errors"
import { type ClaimId, type DecisionId, type DeviceId, idBytes, newId, parseId } from "@signet/kernel/ids"
import type { ProofFacts } from "@signet/kernel/messaging/authority"
import { maxCount, resetAfterMs } from "@signet/kernel/messaging/limits"
import {
  type AddedDecision,
  decideAdded,
  decideMembership,
  type WantedChange,
} from "@signet/kernel/messaging/membership"
import type {
  ClaimRecord,
  Conversation,
  Directive,
  KeyPackageRecord,
  Leaf,
  MessagingDevice,
} from "@signet/kernel/messaging/records"
import { beforeReset, decideReset } from "@signet/kernel/messaging/reset"
import { leafOf } from "@signet/kernel/messaging/roster"
import { NoKeyPackageSchema } from "@signet/proto/messaging/v1/conflict"
import type { AuthorizeMembershipRequest } from "@signet/proto/messaging/v1/conversation_service"
import type { AuthorizationSchema } from "@signet/proto/messaging/v1/records"
import { userOf } from "../../serving/call/call.ts"
import { deviceOf } from "../../serving/call/calling-device.ts"
import { detail, detailed } from "../../serving/call/detailed.ts"
import { commitRequired, otherEpoch } from "./conversation/append/outcome.ts"
import { seen, unresolved } from "./conversation/seen.ts"
import { countChange, counted } from "./counted.ts"
import type { MessagingDeps } from "./deps.ts"
import { claimShape } from "./device/device-shape.ts"
import { requesterEvidence } from "./device/requester-evidence.ts"
import { conversationEvent } from "./events.ts"
import { claimFor } from "./key-package/claiming.ts"
import { ensureUnblocked, usersAt } from "./people.ts"
import { limitExceeded } from "./refusing.ts"

type Authorization = MessageInitShape<typeof AuthorizationSchema>

/** The change to prove, the state on which it is based, and the id of the claim that it may need. */
interface AskedChange {
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
  if (request.change.case === "reset") {
    return authorizeReset(deps, context, conversation, request.change.value.claimId)
  }
  const { baseEpoch, baseStateTag } = request
  return authorize(deps, context, conversation, {
    ...wanted(request),
    baseEpoch,
    baseStateTag: baseStateTag.length === 0 ? null : baseStateTag,
  })
}

/** Decides on one change of a conversation that the caller sees, and signs the proof. */
export async function authorize(
  deps: MessagingDeps,
  context: HandlerContext,
  conversation: Conversation,
  asked: AskedChange,
): Promise<Authorization> {
  const { baseEpoch, baseStateTag, change } = asked
  const device = deviceOf(context)
  const { id: deviceId, userId } = device
  const requester = { deviceId, userId }
  const nowMs = deps.clock.nowMs()
  const decision = decideMembership({ conversation, requester, baseEpoch, baseStateTag, change, nowMs })
  switch (decision.is) {
    case "epoch":
      throw await otherEpoch(deps, conversation, decision.reason, baseEpoch)
    case "commitRequired":
      throw commitRequired(conversation, decision.directive)
    case "refuse":
      throw decision.reason === "LIMIT_EXCEEDED" ? tooMany() : new Refused(decision.reason)
    case "remove": {
      const proof = await prove(deps, context, conversation, { ...decision, packages: [] })
      return { proof, removedDeviceIds: decision.leaves.map((leaf) => leaf.deviceId) }
    }
    case "add": {
      const id = claimIdOf(asked.claimId)
      await ensureUnblocked(deps, device, conversation.roster, decision.targets.userIds)
      if (decision.op === "CREATE") await ensurePeerCanJoin(deps, context, conversation)
      const { claim, ticket } = await claimFor(deps, context, {
        id,
        conversation,
        targets: decision.targets,
      })
      const packages = admitted(conversation, claim, decideAdded(conversation, deviceId, claim.packages))
      const proof = await prove(deps, context, conversation, { ...decision, leaves: [], packages })
      return { proof, claim: claimShape(claim, ticket), keyPackageRefs: packages.map(({ ref }) => ref) }
    }
  }
}

/**
 * Authorizes the first commit of a new group of a direct conversation. Only the claim is stored: the commit is accepted
 * on the state that the proof names, and on no other.
 *
 * @throws Refused the refusals of `decideReset`, and RESET_NOT_NEEDED once helpers were notified to add the caller.
 */
async function authorizeReset(
  deps: MessagingDeps,
  context: HandlerContext,
  conversation: Conversation,
  claimId: string,
): Promise<Authorization> {
  const device = deviceOf(context)
  const nowMs = deps.clock.nowMs()
  const members = await deps.store.conversations.online(conversation.id, nowMs - resetAfterMs)
  const online = members.map(({ deviceId }) => deviceId)
  const decision = decideReset(conversation, { deviceId: device.id, userId: device.userId }, online, nowMs)
  if (decision.is === "refuse") {
    if (decision.reason === "RESET_NOT_NEEDED") await askHelpers(deps, device)
    throw new Refused(decision.reason)
  }
  await ensurePeerCanJoin(deps, context, conversation)
  // Before the claim: a refused reset uses up no key packages. By user: otherwise one of the two could use up the
  // other's resets, without a commit.
  await counted(deps, context, "messaging_reset", { user: `${conversation.id} ${device.userId}` })
  const mlsGroupId = concat(idBytes(conversation.id), deps.random.bytes(16))
  const base = beforeReset(conversation, mlsGroupId)
  const { claim, ticket } = await claimFor(deps, context, {
    id: claimIdOf(claimId),
    conversation: base,
    targets: { userIds: conversation.userIds, deviceIds: [] },
  })
  const packages = admitted(base, claim, decideAdded(base, device.id, claim.packages))
  const proof = await prove(deps, context, base, { op: "RESET", packages, leaves: [], directive: null })
  return { proof, claim: claimShape(claim, ticket), keyPackageRefs: packages.map(({ ref }) => ref), mlsGroupId }
}

/** Publishes the device list again, so that a member who missed the hint adds the device. */
async function askHelpers({ store, wakeups }: MessagingDeps, device: MessagingDevice): Promise<void> {
  const { newest } = await store.devices.ofUser(device.userId, device)
  if (newest !== undefined) wakeups.publish([{ is: "deviceList", userId: device.userId, version: newest.version }])
}

/**
 * Requires that a device of the peer can be added. Checked before the claim, which would otherwise use up packages of
 * the caller's own devices for a group without the peer.
 *
 * @throws Refused RESOURCE_UNRESOLVED for a peer who is no longer a user of the place; NO_KEY_PACKAGE, with the peer's
 * devices, also for a peer who blocks the caller
 */
async function ensurePeerCanJoin(deps: MessagingDeps, context: HandlerContext, conversation: Conversation) {
  if (conversation.kind !== "DIRECT") return
  const { store, clock } = deps
  const { userId } = deviceOf(context)
  const peers = conversation.userIds.filter((id) => id !== userId)
  await usersAt(deps, conversation, peers)
  const devices = await store.devices.activeOf(peers, conversation)
  const nowMs = clock.nowMs()
  const [blockers, ...inventories] = await Promise.all([
    store.blocks.blockersOf(userId, peers, conversation),
    ...devices.map(({ id }) => store.keyPackages.inventory(id, nowMs)),
  ])
  const isAnyLeft = inventories.some(({ available, hasLastResort }) => available > 0 || hasLastResort)
  if (isAnyLeft && blockers.length === 0) return
  throw detailed(
    new Refused("NO_KEY_PACKAGE", { message: "no device of the other user has a key package" }),
    detail(NoKeyPackageSchema, { deviceIds: devices.map(({ id }) => id) }),
  )
}

/**
 * The requested change. The claim resolves the devices to add; an unknown leaf to remove is refused by the decision.
 */
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
    // `appendMessage` has handled a reset: it is based on any state.
    case "reset":
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
  throw new Refused("INVALID_FIELD", {
    message: "claim_id is required to add members",
    metadata: { field: "claim_id" },
  })
}

/** The packages of a claim that the decision adds. @throws Refused with the limit or the devices that it names */
export function admitted(
  conversation: Conversation,
  claim: ClaimRecord,
  added: AddedDecision,
): readonly KeyPackageRecord[] {
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

/** Signs the decision, and records the proof. */
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
  // Before the first commit the roster is empty: the creator's leaf will have its newest credential.
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
  const proof = await deps.authority.issueProof(facts, () => requesterEvidence(deps, device, requester))
  const event = conversationEvent(deps, context, conversation, nowMs, {
    kind: "membership_proof.issued",
    subjectPrincipalId: directive?.userId ?? null,
  })
  await deps.accounts.audit([event])
  return proof.bytes
}
