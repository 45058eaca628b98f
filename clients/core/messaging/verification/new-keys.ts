// Detects devices with keys that this device has not seen, for verified and unverified users.

import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { sha256 } from "@noble/hashes/sha2.js"
import { equalBytes } from "@signet/canonical/bytes"
import {
  type ConversationRecord,
  ConversationRecordSchema,
  SeenKeysSchema,
  ConversationRecord_Status as Status,
  VerificationRecord_Status as Verification,
} from "@signet/proto/client/v1/records"
import { personOf } from "../checks/credential.ts"
import type { Context } from "../context.ts"
import { isUnannounced } from "../conversation/order.ts"
import type { Storage } from "../deps.ts"
import { MessagingError } from "../errors.ts"
import type { NewKey, TimelineEntry } from "../events.ts"
import { type GroupState, membersOf } from "../mls.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import type { Op } from "../store/store.ts"
import type { DeviceKey } from "./noticing.ts"
import { putSeenKey, recordsOf, seenKeys } from "./peer-rows.ts"

/** By user and device id, because a service may attribute a known device to another user. */
type Seen = ReadonlyMap<string, DeviceKey>

/** Watches the keys of one conversation over the commits of one transaction. */
export interface KeyWatch {
  /**
   * Compares the members after a commit with all former devices of the conversation, and a new user's devices with
   * those of every conversation. The first keys of a user are not announced.
   *
   * @param before The state before the commit.
   * @returns The entry that precedes all later ones; none without a new key.
   */
  see(before: StoredConversation, after: GroupState, at: Pick<TimelineEntry, "seq" | "atMs">): Promise<TimelineEntry[]>
  /** Returns the writes that belong to the conversation's record. */
  written(record: ConversationRecord | undefined): Promise<{ record: typeof record; ops: readonly Op[] }>
}

type Needs = Storage & {
  readonly clock: Pick<Context["clock"], "nowMs">
  readonly device: Pick<Context["device"], "id">
}

export function watchKeys(context: Needs, conversationId: string): KeyWatch {
  const { rows, clock, device } = context
  const place = { space: conversationId, table: "peer", key: "seen" } as const
  const ops: Op[] = []
  let seen: Seen | undefined

  return {
    async see(before, after, at) {
      const present = keysIn(after)
      const former = before.local && !isUnannounced(before) ? byDevice(keysIn(before.local.group)) : undefined
      const isWritten = seen !== undefined || (before.record?.seenKeysHash.length ?? 0) > 0
      const isSame = former !== undefined && present.every((one) => isIn(former, one))
      if (isWritten && seen === undefined && isSame) return []
      const known = seen ?? (await seenBefore(context, place, before))
      const unseen = present.filter((one) => !isIn(known, one))
      const devices = await newAmong(context, known, unseen)
      const seenAtMs = BigInt(clock.nowMs())
      for (const one of isWritten ? unseen : [...known.values(), ...unseen]) {
        ops.push(await putSeenKey(context, { ...one, seenAtMs }))
      }
      seen = new Map([...known, ...byDevice(present)])
      const others = devices.filter(({ deviceId }) => deviceId !== device.id)
      return others.length === 0 ? [] : [{ ...at, is: "newKeys", devices: others }]
    },
    async written(record) {
      if (record === undefined || seen === undefined) return { record, ops: [] }
      const bytes = toBinary(SeenKeysSchema, create(SeenKeysSchema, { devices: [...seen.values()] }))
      const next = create(ConversationRecordSchema, { ...record, seenKeysHash: sha256(bytes) })
      return { record: next, ops: [...ops, await rows.putBytes(place, bytes)] }
    },
  }
}

const keysIn = (group: GroupState): DeviceKey[] =>
  membersOf(group).map(({ credential, signatureKey }) => ({ ...personOf(credential), key: signatureKey }))

const nameOf = ({ userId, deviceId }: DeviceKey): string => `${userId} ${deviceId}`

const byDevice = (keys: readonly DeviceKey[]): Seen => new Map(keys.map((one) => [nameOf(one), one]))

function isIn(seen: Seen, one: DeviceKey): boolean {
  const found = seen.get(nameOf(one))
  return found !== undefined && equalBytes(found.key, one.key)
}

/** Earlier versions wrote no row: for their conversations, the members before the commit count as seen. */
async function seenBefore(
  { store, rows }: Needs,
  place: { readonly space: string; readonly table: "peer"; readonly key: string },
  { record, local }: StoredConversation,
): Promise<Seen> {
  if (record !== undefined && record.seenKeysHash.length > 0) {
    const { values } = await store.read(place.space, [place])
    const [sealed] = values
    const bytes = sealed && (await rows.readBytes(place, sealed))
    // Without this check, an attacker who deletes the row or restores an older one could hide a change of keys.
    if (bytes === undefined || !equalBytes(sha256(bytes), record.seenKeysHash)) {
      throw new MessagingError("STATE_TAMPERED", "the stored keys do not match the record")
    }
    const { devices } = fromBinary(SeenKeysSchema, bytes)
    return byDevice(devices)
  }
  const isAlone = local === undefined || record?.status === Status.CREATING
  return isAlone ? new Map() : byDevice(keysIn(local.group))
}

/** Finds new devices and keys of known users. A compared key is not new. */
async function newAmong(context: Needs, known: Seen, unseen: readonly DeviceKey[]): Promise<NewKey[]> {
  const users = new Set([...known.values()].map(({ userId }) => userId))
  const records = await recordsOf(context, [...new Set(unseen.map(({ userId }) => userId))])
  const elsewhere = new Map<string, readonly DeviceKey[]>()
  const found: NewKey[] = []
  for (const { userId, deviceId, key } of unseen) {
    const record = records.get(userId)
    if (record?.acceptedKeys.some((accepted) => equalBytes(accepted, key))) continue
    const wasVerified = record?.status === Verification.VERIFIED || record?.status === Verification.CHANGED
    const isHere = users.has(userId)
    const here = isHere ? [...known.values()].filter((one) => one.userId === userId) : undefined
    const seen = here ?? elsewhere.get(userId) ?? (await seenKeys(context, userId))
    if (!isHere) elsewhere.set(userId, seen)
    const isFirst = !isHere && seen.length === 0 && !wasVerified
    const isSeen = seen.some((one) => one.deviceId === deviceId && equalBytes(one.key, key))
    if (isFirst || isSeen) continue
    const what = seen.some((one) => one.deviceId === deviceId) ? "changedKey" : "newDevice"
    found.push({ userId, deviceId, what, wasVerified })
  }
  return found
}
