import { create } from "@bufbuild/protobuf"
import { hash } from "@signet/canonical/hash"
import { type ConversationRecord, ConversationRecordSchema, type StagedCommit } from "@signet/proto/client/v1/records"
import { type StateSnapshotV1, StateSnapshotV1Schema } from "@signet/proto/client/v1/state_snapshot"
import { usersIn } from "../checks/roster.ts"
import { bytesOfId } from "../ids.ts"
import { type Engine, encodeEpoch, encodeSecrets, type GroupState, membersOf } from "../mls.ts"
import { currentFormat } from "./snapshot-migrations.ts"

/** The engine that writes group_state. */
const engineName = "ts-mls/1.6.4"
const cipherSuite = 1

/** A device's MLS group state, and its position in the log. */
export interface LocalGroup {
  readonly group: GroupState
  /** The group's state includes all envelopes up to this sequence number. */
  readonly processedSeq: bigint
  /** The newest receipt, which the next one must name. */
  readonly receipt: { readonly hash: Uint8Array; readonly acceptedAtMs: bigint } | "first"
  /** When the keys of this device's leaf were last replaced, in Unix seconds. */
  readonly leafRenewedAt: number
  /** The handle of the leaf's signature key: its public key. */
  readonly identityKey: Uint8Array
  /** H("tree-blob", the encoded tree), computed once per epoch. */
  readonly treeHash: Uint8Array
}

/** A device's stored state of one conversation. Immutable. */
export interface StoredConversation {
  /** Undefined for a conversation that this device never had. */
  readonly record: ConversationRecord | undefined
  /** Undefined while the device is no member. */
  readonly local: LocalGroup | undefined
  /** A commit of this device that is stored and not yet in the log. */
  readonly staged: StagedCommit | undefined
}

/** The part of a conversation that a list shows. */
export interface ConversationSummary {
  readonly record: ConversationRecord | undefined
  /** `prn_…`, each once; empty if this device is no member. */
  readonly memberUserIds: readonly string[]
  readonly processedSeq: bigint
}

export const summaryOf = ({ record, local }: StoredConversation): ConversationSummary => ({
  record,
  memberUserIds: local === undefined ? [] : usersIn(local.group),
  processedSeq: local?.processedSeq ?? 0n,
})

/** Fields of a record to be replaced; an undefined one is removed. */
export type RecordChanges = { readonly [Field in keyof ConversationRecord]?: ConversationRecord[Field] | undefined }

/** The state with changed fields of its record. A conversation without a record stays as it is. */
export function withRecord(state: StoredConversation, changes: RecordChanges): StoredConversation {
  const { record } = state
  return record === undefined
    ? state
    : { ...state, record: create(ConversationRecordSchema, { ...record, ...changes }) }
}

/** The state without its group. */
export const withoutGroup = (state: StoredConversation): StoredConversation => ({
  ...state,
  local: undefined,
  staged: undefined,
})

export const nothingStored: StoredConversation = { record: undefined, local: undefined, staged: undefined }

/** H("tree-blob", the encoded tree), for a group in a new epoch. */
export function treeHashOf({ group }: Pick<LocalGroup, "group">): Uint8Array {
  return hash("tree-blob", encodeEpoch(group))
}

/** The credential of this device's leaf. */
export function ownCredential(group: GroupState): Uint8Array {
  return membersOf(group).find(({ leaf }) => leaf === group.ownLeaf)?.credential ?? new Uint8Array()
}

export function snapshotOf(
  conversationId: string,
  generation: bigint,
  { group, ...local }: LocalGroup,
  staged: StagedCommit | undefined,
): StateSnapshotV1 {
  return create(StateSnapshotV1Schema, {
    formatVersion: currentFormat,
    engine: engineName,
    cipherSuite,
    conversationId: bytesOfId("cnv", conversationId),
    mlsGroupId: group.groupId,
    epoch: group.epoch,
    ownLeaf: group.ownLeaf,
    ownCredentialHash: hash("device-credential", ownCredential(group)),
    generation,
    processedSeq: local.processedSeq,
    ...(local.receipt === "first"
      ? {}
      : { receiptHead: local.receipt.hash, receiptAcceptedAtMs: local.receipt.acceptedAtMs }),
    treeHash: local.treeHash,
    groupState: encodeSecrets(group),
    identityKeyHandle: local.identityKey,
    ...(staged === undefined ? {} : { stagedCommit: staged.commitHash }),
    leafRenewedAt: BigInt(local.leafRenewedAt),
  })
}

/** @param tree The encoded tree, stored beside the snapshot. @throws MlsError STATE_TAMPERED */
export async function localGroupOf(engine: Engine, snapshot: StateSnapshotV1, tree: Uint8Array): Promise<LocalGroup> {
  const { groupState, identityKeyHandle, receiptHead } = snapshot
  return {
    group: await engine.decodeState({ epoch: tree, secrets: groupState }, identityKeyHandle),
    processedSeq: snapshot.processedSeq,
    receipt: receiptHead.length === 0 ? "first" : { hash: receiptHead, acceptedAtMs: snapshot.receiptAcceptedAtMs },
    leafRenewedAt: Number(snapshot.leafRenewedAt),
    identityKey: identityKeyHandle,
    treeHash: snapshot.treeHash,
  }
}
