// A conversation as one device sees it: the group's state, and the processed part of the log.

import { equalBytes } from "@signet/canonical/bytes"
import { verifyCommitReceipt } from "@signet/canonical/commit-receipt"
import { buildEnvelopeAad, parseEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import type { IssuerKeys } from "@signet/canonical/issuer-keys"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { type Envelope, Envelope_Kind } from "@signet/proto/messaging/v1/records"
import {
  acceptCommit,
  discardCommit,
  frameOf,
  type GroupState,
  membersOf,
  type StagedCommit,
  stateTag,
} from "../../../clients/core/messaging/mls.ts"
import { bytesOf, engine, hexOf, verify } from "./device-parts.ts"

export interface Room {
  readonly id: string
  state: GroupState
  /** Everything up to this sequence number was processed. */
  seq: bigint
  epoch: bigint
  /** The newest receipt; "first" before the first commit, "unknown" for a device that joined by a welcome. */
  receipt: { readonly hash: Uint8Array; readonly acceptedAtMs: bigint } | "first" | "unknown"
  /** Own commits that may appear in the log. */
  staged: StagedCommit[]
  /** Messages that were read, in order. */
  readonly read: { readonly seq: bigint; readonly from: string; readonly text: string }[]
  /** False once a commit removed this device. */
  isMember: boolean
}

export const newRoom = (of: Pick<Room, "id" | "state" | "seq" | "epoch" | "receipt">): Room => ({
  ...of,
  staged: [],
  read: [],
  isMember: true,
})

/** The AAD of the next message. */
export function aadOf(
  room: Pick<Room, "id" | "receipt">,
  kind: EnvelopeKind,
  membershipProof?: Uint8Array,
): Uint8Array {
  return buildEnvelopeAad({
    conversationId: bytesOf("cnv", room.id),
    kind,
    membershipProof,
    lastReceiptHash: typeof room.receipt === "object" ? room.receipt.hash : undefined,
  })
}

/** Processes one envelope of the log. @throws Error if it violates the contract. */
export async function follow(room: Room, envelope: Envelope, of: { id: string; issuerKeys: IssuerKeys }) {
  if (envelope.seq !== room.seq + 1n) throw new Error(`place ${envelope.seq} follows ${room.seq}`)
  if (envelope.epoch !== room.epoch)
    throw new Error(`place ${envelope.seq} is of epoch ${envelope.epoch}, not ${room.epoch}`)
  const isCommit = envelope.kind === Envelope_Kind.COMMIT
  const contentHash = hash(isCommit ? "commit" : "content", envelope.message)
  if (!equalBytes(envelope.contentHash, contentHash)) throw new Error("the content hash is another one")
  room.seq = envelope.seq
  if (isCommit) await followCommit(room, envelope, of.issuerKeys)
  else if (envelope.senderDeviceId !== of.id) await readMessage(room, envelope)
}

async function readMessage(room: Room, { message, seq, senderDeviceId }: Envelope): Promise<void> {
  const { plaintext, sender, next, finish } = await engine.decrypt(room.state, message)
  const text = new TextDecoder().decode(plaintext)
  finish()
  room.state = next
  if (!membersOf(next).some(({ leaf }) => leaf === sender.leaf)) throw new Error("the sender is no member")
  room.read.push({ seq, from: senderDeviceId, text })
}

async function followCommit(room: Room, envelope: Envelope, issuerKeys: IssuerKeys): Promise<void> {
  const own = room.staged.find(({ commit }) => equalBytes(commit, envelope.message))
  const { aad, groupId: mlsGroupId } = frameOf(envelope.message)
  const conversationId = bytesOf("cnv", room.id)
  const { membershipProof } = parseEnvelopeAad(aad, { conversationId, kind: EnvelopeKind.COMMIT })
  const { body, hash: receiptHash } = verifyCommitReceipt(envelope.receipt, {
    issuerKeys,
    conversationId,
    mlsGroupId,
    epoch: envelope.epoch,
    seq: envelope.seq,
    commitHash: envelope.contentHash,
    proofHash: membershipProof.length === 0 ? undefined : hash("membership-proof", membershipProof),
    previous: room.receipt,
    nowMs: BigInt(Date.now()),
    verify,
  })
  const before = room.state
  if (own !== undefined) room.state = acceptCommit(before, own)
  else {
    const atSeconds = Number(body.acceptedAtMs / 1_000n)
    const processed = await engine.process(before, envelope.message, () => "accept", atSeconds)
    processed.finish()
    if (processed.kind === "removed") {
      room.isMember = false
      return
    }
    room.state = processed.next
  }
  for (const lost of room.staged) if (lost !== own) discardCommit(room.state, lost)
  room.staged = []
  if (!equalBytes(stateTag(room.state), body.resultingStateTag)) throw new Error("the receipt is of another state")
  room.receipt = { hash: receiptHash, acceptedAtMs: body.acceptedAtMs }
  room.epoch += 1n
}

/** Equal for two devices in the same group and epoch. */
export const tagOf = (room: Room): string => hexOf(stateTag(room.state))
