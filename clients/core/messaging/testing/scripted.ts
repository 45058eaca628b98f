// One conversation of a device whose service is a script: for races, and for answers that a real service rarely gives.
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { Code, ConnectError, createRouterTransport, type ServiceImpl } from "@connectrpc/connect"
import { issueCommitReceipt } from "@signet/canonical/commit-receipt"
import { verifyEd25519 } from "@signet/canonical/ed25519"
import { buildEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import {
  type ConversationRecord,
  ConversationRecordSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { type Envelope, Envelope_Kind, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import * as world from "../../../../proto/canonical/testing/world.ts"
import type { FailureReason } from "../../errors.ts"
import { makeCalls } from "../calls.ts"
import type { Context, Conversation } from "../context.ts"
import { openIssuer } from "../device/issuer.ts"
import { createEvents, type MessengerEvent } from "../events.ts"
import { idOf } from "../ids.ts"
import { acceptCommit, type GroupState, stateTag } from "../mls.ts"
import { hearing } from "../open.ts"
import { ownerOf } from "../session.ts"
import { openConversations } from "../state/conversations.ts"
import type { PendingChange } from "../state/pending-rows.ts"
import { type LocalGroup, type StoredConversation, treeHashOf } from "../state/stored-conversation.ts"
import { openMemoryStore } from "../store/memory.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import type { Op } from "../store/store.ts"
import { signedEngine as engine, signedIdentity, signedLifetime } from "./signed-group.ts"
import { testBox } from "./test-box.ts"

type Script = Partial<ServiceImpl<typeof ConversationService>>

interface ScriptedOptions {
  readonly service?: Script
  readonly devices?: Partial<ServiceImpl<typeof DeviceService>>
  /** The signed issuer key sets: the stored one, then the answers of the service. Default: that of the fixed world. */
  readonly keySets?: readonly Uint8Array[]
}

export interface CommitOptions {
  readonly seq: bigint
  /** The epoch that envelope and receipt state, if it is another one: then nobody applies the commit. */
  readonly epoch?: bigint
  /** Signs the receipt. Default: the receipt key of the fixed world. */
  readonly signer?: typeof world.receiptKey
  /** H("commit-receipt", the receipt before). Default: that of the stored group. */
  readonly previous?: Uint8Array
}

export interface Scripted {
  readonly conversation: Conversation
  /** The same conversation in another tab. */
  readonly otherTab: Conversation
  readonly local: LocalGroup
  /** A commit of the other member, Bob, which replaces the keys of his leaf. */
  bobsCommit(options: CommitOptions): Promise<Envelope>
  readonly events: MessengerEvent[]
  /** The waits of the clock, in milliseconds. Each ends at once. */
  readonly waits: number[]
  /** The number of fetched issuer key sets. */
  readonly fetched: () => number
  /** Stores a state: by default that of an active member of a group with Bob. */
  write(
    fields?: MessageInitShape<typeof ConversationRecordSchema>,
    more?: Partial<StoredConversation> & { readonly due?: readonly PendingChange[]; readonly ops?: readonly Op[] },
  ): Promise<ConversationRecord>
}

/** A refusal by the service. */
export function refusedAs(reason: FailureReason, metadata: Record<string, string> = {}): ConnectError {
  const error = new ConnectError(reason, Code.FailedPrecondition)
  error.details.push({ desc: ErrorInfoSchema, value: { reason, domain: "signet", metadata } })
  return error
}

const session = {
  ...{ appId: idOf("app", world.appId), tenantId: idOf("ten", world.tenantId), userId: idOf("prn", world.alice) },
  ...{ accessToken: async () => "", renewToken: async () => "" },
}
const conversationId = idOf("cnv", world.conversationId)
const identity = await signedIdentity()
const bobsIdentity = await signedIdentity({ userId: world.bob, deviceId: world.id(0x68) })
const receipt = { hash: world.bytes32(0xc4), acceptedAtMs: world.now * 1_000n }

/** A group of Alice's phone and Bob's device, as both see it. */
async function groupOfTwo(): Promise<{ ours: GroupState; bobs: GroupState }> {
  const alone = await engine.createGroup({ groupId: world.mlsGroupId, identity, ...signedLifetime })
  const own = await engine.newKeyPackage(bobsIdentity, signedLifetime)
  const added = await engine.add(alone, [own.keyPackage], { aad: new Uint8Array() })
  const { welcome = new Uint8Array() } = added
  const { state } = await engine.join({ ...own, welcome, tree: added.tree(), identityKey: bobsIdentity.key })
  return { ours: acceptCommit(alone, added), bobs: state }
}

/** Commits new keys of Bob's leaf. */
async function commitOf(bobs: GroupState, options: CommitOptions) {
  const { seq, epoch = bobs.epoch, signer = world.receiptKey, previous = receipt.hash } = options
  const { conversationId } = world
  const aad = buildEnvelopeAad({ conversationId, kind: EnvelopeKind.COMMIT, lastReceiptHash: previous })
  const made = await engine.update(bobs, { aad })
  const signed = issueCommitReceipt(
    {
      ...{ ...world.receiptFields, epoch, seq, previousReceiptHash: previous, proofHash: new Uint8Array() },
      ...{ commitHash: hash("commit", made.commit), resultingStateTag: stateTag(made.next) },
    },
    signer,
  )
  const fields = { kind: Envelope_Kind.COMMIT, seq, epoch, message: made.commit, receipt: signed }
  return { envelope: create(EnvelopeSchema, fields), accept: () => acceptCommit(bobs, made) }
}

/** Opens the conversation of Alice's phone. */
export async function scripted({
  service = {},
  devices = {},
  keySets = [world.keySetBytes],
}: ScriptedOptions = {}): Promise<Scripted> {
  const [kept = new Uint8Array(), ...later] = keySets
  const [box, scope, store, events] = [testBox(), { app: "app", user: "user" }, openMemoryStore(), createEvents()]
  await box.createKey(scope)
  const emitted: MessengerEvent[] = []
  events.subscribe((event) => emitted.push(event))
  const waits: number[] = []
  const nowMs = () => Number(world.now) * 1_000
  const clock = {
    nowMs,
    after(ms: number, run: () => void) {
      waits.push(ms)
      queueMicrotask(run)
      return () => undefined
    },
  }
  const random = { bytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)) }
  let fetched = 0
  const transport = createRouterTransport((router) => {
    router.service(ConversationService, service)
    router.service(DeviceService, {
      ...devices,
      getIssuerKeys: () => ({ issuerKeySet: later[Math.min(fetched++, later.length - 1)] ?? kept }),
    })
  })
  const calls = makeCalls({ transport, session, device: () => undefined, clock, random })
  const issuer = openIssuer(
    {
      ...{ issuer: world.issuerUrl, roots: [world.root.publicKey], nowMs, verify: verifyEd25519 },
      fetch: async () => (await calls.devices.getIssuerKeys({})).issuerKeySet,
      store: async (signed) => signed,
    },
    kept,
  )
  const tab = (): Context => {
    const device = { id: idOf("dev", world.phone), marks: { bindsRecords: true }, identity: () => identity }
    const shared = {
      ...{ engine, clock, random, calls, issuer, session, store, owner: ownerOf(session), verify: verifyEd25519 },
      ...{ rows: sealedRows(box, scope), refusesChangedKeys: false, emit: events.emit },
      // Only the fields that a conversation needs.
      device: device as Context["device"],
    }
    const context = { ...shared, ...hearing(events), ...openConversations(shared, () => context) } as Context
    return context
  }
  const conversation = tab().conversation(conversationId)
  const { ours: group, ...both } = await groupOfTwo()
  const local: LocalGroup = {
    ...{ group, processedSeq: 4n, receipt, leafRenewedAt: Number(world.now) },
    ...{ identityKey: identity.signatureKey, treeHash: treeHashOf({ group }) },
  }
  return {
    conversation,
    otherTab: tab().conversation(conversationId),
    local,
    async bobsCommit(options) {
      const { envelope, accept } = await commitOf(both.bobs, options)
      if (options.epoch === undefined) both.bobs = accept()
      return envelope
    },
    events: emitted,
    waits,
    fetched: () => fetched,
    write: (fields = {}, { due = [], ops = [], ...more } = {}) =>
      conversation.change(async () => {
        const record = create(ConversationRecordSchema, { status: Status.ACTIVE, ...fields })
        return { next: { record, local, staged: undefined, ...more }, due, ops, result: record }
      }),
  }
}
