import { idOf } from "../../ids.ts"
import type { Conversation, Directive, KeyPackageRecord, Leaf, MessagingDevice, WelcomeRecord } from "../records.ts"

/** Bytes (32 by default) that differ by number. */
export const bytes = (number: number, length = 32): Uint8Array => new Uint8Array(length).fill(number)

export const user = (number: number) => idOf("prn", bytes(number, 16))
export const device = (number: number) => idOf("dev", bytes(number, 16))
export const place = { appId: idOf("app", bytes(1, 16)), tenantId: null }
export const nowMs = 1_700_000_000_000

/** Devices 10, 11, … belong to user 1; 20, 21, … to user 2. */
export const leaf = (leafIndex: number, number: number, joinedEpoch = 1n): Leaf => ({
  leafIndex,
  deviceId: device(number),
  userId: user(Math.floor(number / 10)),
  credentialHash: bytes(number),
  joinedEpoch,
})

export const conversation: Conversation = {
  ...place,
  id: idOf("cnv", bytes(9, 16)),
  mlsGroupId: bytes(9),
  kind: "GROUP",
  status: "ACTIVE",
  creatorUserId: user(1),
  userIds: [user(1), user(2)],
  epoch: 3n,
  headSeq: 7n,
  firstSeq: 1n,
  headAtMs: nowMs - 1,
  state: {
    stateTag: bytes(3),
    receiptHash: bytes(4),
    groupContext: bytes(5),
    interimTranscriptHash: bytes(6),
    treeHash: null,
  },
  roster: [leaf(0, 10), leaf(1, 20), leaf(2, 21)],
  directives: [],
  forkReports: [],
  maxLeaves: 512,
  createdAtMs: 1,
}

export const fresh: Conversation = { ...conversation, epoch: 0n, headSeq: 0n, headAtMs: 0, state: null, roster: [] }

export const directive: Directive = {
  id: idOf("dir", bytes(1, 16)),
  kind: "REVOCATION",
  status: "OPEN",
  userId: user(2),
  deviceId: device(21),
  issuedAtMs: nowMs - 30_000,
  lease: null,
}

export const messagingDevice = (number: number, change: Partial<MessagingDevice> = {}): MessagingDevice => ({
  ...place,
  id: device(number),
  userId: user(Math.floor(number / 10)),
  status: "ACTIVE",
  leafKey: bytes(number),
  previousKey: null,
  credential: bytes(number, 228),
  credentialHash: bytes(number),
  expiresAtMs: nowMs + 1_000,
  platform: "web",
  createdAtMs: 1,
  changedAtMs: 1,
  revokedAtMs: null,
  ...change,
})

const day = 86_400_000

export const keyPackage = (number: number, change: Partial<KeyPackageRecord> = {}): KeyPackageRecord => ({
  ref: bytes(number),
  initKey: bytes(number),
  deviceId: device(number),
  userId: user(Math.floor(number / 10)),
  credentialHash: bytes(number),
  bytes: bytes(number, 300),
  isLastResort: false,
  notBeforeMs: nowMs - day,
  notAfterMs: nowMs + 30 * day,
  status: "AVAILABLE",
  ...change,
})

export const welcome: WelcomeRecord = {
  id: idOf("wel", bytes(1, 16)),
  deviceId: device(20),
  conversationId: conversation.id,
  mlsGroupId: bytes(9),
  conversationKind: "GROUP",
  epoch: 3n,
  commitSeq: 7n,
  keyPackageRef: bytes(20),
  welcome: bytes(1),
  treeHash: bytes(2),
  receipt: bytes(3),
  proof: bytes(4),
  adderDeviceId: device(10),
  status: "PENDING",
  consumedWithKey: null,
  createdAtMs: 1,
  expiresAtMs: nowMs + 1,
}
