// Reading of a test device: the log, and joining conversations.

import { decode } from "@signet/canonical/canonical"
import { verifyCommitReceipt } from "@signet/canonical/commit-receipt"
import { hash } from "@signet/canonical/hash"
import { parseSigned } from "@signet/canonical/signed"
import { CommitReceiptBodyV1Schema } from "@signet/proto/credential/v1/commit_receipt"
import type { Welcome } from "@signet/proto/messaging/v1/records"
import { bytesOf, engine, hexOf, randomBytes, verify } from "./device-parts.ts"
import type { Own } from "./own.ts"
import { follow, newRoom, type Room } from "./room.ts"

export interface Reading {
  room(id: string): Room
  /** Processes the log to its end, or to the commit that removed the device. */
  sync(room: Room): Promise<Room>
  welcomes(): Promise<Welcome[]>
  treeOf(welcome: Pick<Welcome, "conversationId" | "treeHash">): Promise<Uint8Array>
  /** Joins with one welcome and consumes it. */
  joinBy(welcome: Welcome): Promise<Room>
  /** Joins with every welcome, and processes the logs. */
  join(): Promise<Room[]>
}

export function reading(own: Own): Reading {
  const { calls, rooms, packages, issuerKeys } = own
  const reads: Reading = {
    room(id) {
      const found = rooms.get(id)
      if (found === undefined) throw new Error(`the device has not joined ${id}`)
      return found
    },
    async sync(room) {
      for (let isBehind = true; isBehind && room.isMember; ) {
        const { envelopes, headSeq } = await calls.conversations.listMessages({
          conversationId: room.id,
          afterSeq: room.seq,
          limit: 200,
        })
        for (const envelope of envelopes) if (room.isMember) await follow(room, envelope, own)
        isBehind = envelopes.length > 0 && room.seq < headSeq
      }
      return room
    },

    async welcomes() {
      const all: Welcome[] = []
      for (let pageToken = ""; ; ) {
        const page = await calls.welcomes.listWelcomes({ pageToken })
        all.push(...page.welcomes)
        pageToken = page.nextPageToken
        if (pageToken === "") return all
      }
    },
    async treeOf({ conversationId, treeHash }) {
      const chunks: Uint8Array[] = []
      for (let offset = 0, end = Number.POSITIVE_INFINITY; offset < end; ) {
        const { chunk, size } = await calls.conversations.getTree({ conversationId, treeHash, offset })
        chunks.push(chunk)
        offset += chunk.length
        end = chunk.length === 0 ? 0 : size
      }
      const tree = new Uint8Array(Buffer.concat(chunks))
      if (hexOf(hash("tree-blob", tree)) !== treeHash) throw new Error("the tree is another one")
      return tree
    },
    async joinBy(welcome) {
      const made = packages.get(hexOf(welcome.keyPackageRef))
      if (made === undefined) throw new Error("a welcome for a key package that is not the device's")
      const tree = await reads.treeOf(welcome)
      const joined = await engine.join({ ...made, welcome: welcome.welcome, tree, identityKey: own.identity.key })
      if (hexOf(joined.proof ?? new Uint8Array()) !== hexOf(welcome.proof)) throw new Error("the proof is another one")
      const receipt = verifiedReceipt(own, welcome)
      const { conversationId: id, commitSeq: seq, epoch } = welcome
      const room = newRoom({ id, state: joined.state, seq, epoch, receipt })
      rooms.set(id, room)
      await calls.welcomes.consumeWelcome({ welcomeId: welcome.id, idempotencyKey: randomBytes(16) })
      return room
    },
    async join() {
      const joined: Room[] = []
      for (const welcome of await reads.welcomes()) joined.push(await reads.joinBy(welcome))
      for (const room of joined) await reads.sync(room)
      return joined
    },
  }
  return reads

  /** The receipt of the welcome's commit: the head of the chain from which the device continues. */
  function verifiedReceipt({ issuerKeys: keys }: Own, welcome: Welcome) {
    const told = decode(CommitReceiptBodyV1Schema, parseSigned(CommitReceiptBodyV1Schema, welcome.receipt).body)
    const { body, hash: receiptHash } = verifyCommitReceipt(welcome.receipt, {
      issuerKeys: keys ?? issuerKeys,
      conversationId: bytesOf("cnv", welcome.conversationId),
      mlsGroupId: welcome.mlsGroupId,
      epoch: welcome.epoch - 1n,
      seq: welcome.commitSeq,
      commitHash: told.commitHash,
      proofHash: hash("membership-proof", welcome.proof),
      previous: "unknown",
      nowMs: BigInt(Date.now()),
      verify,
    })
    return { hash: receiptHash, acceptedAtMs: body.acceptedAtMs }
  }
}
