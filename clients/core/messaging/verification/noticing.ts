// Detects keys of verified users that differ from the compared ones.

import { type ConversationRecord, VerificationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { personOf } from "../checks/credential.ts"
import type { Context } from "../context.ts"
import { hex } from "../crypto/bytes.ts"
import type { Ambient, Storage } from "../deps.ts"
import { MessagingError } from "../errors.ts"
import type { MessengerEvent, Person } from "../events.ts"
import { type GroupState, membersOf } from "../mls.ts"
import type { Op } from "../store/store.ts"
import { changedKeys, putChangedKey, readPeer, recordsOf, statusOf } from "./peer-rows.ts"

/** A device and the key that it signs with. */
export interface DeviceKey extends Person {
  readonly key: Uint8Array
}

/** Rows to write, and events to emit after the write. */
interface Noticed {
  readonly ops: readonly Op[]
  readonly events: readonly MessengerEvent[]
}

/** The devices of a group, without this one. */
export function deviceKeysIn(context: Pick<Context, "device">, group: GroupState): DeviceKey[] {
  return membersOf(group)
    .map(({ credential, signatureKey }) => ({ ...personOf(credential), key: signatureKey }))
    .filter(({ deviceId }) => deviceId !== context.device.id)
}

/**
 * Finds keys of verified users that were not compared. The result is written with the change that added them, and
 * emitted before any of their messages. A user keeps the status "changed" until the keys are compared again.
 */
export async function noticeKeys(
  context: Storage & Pick<Ambient, "clock">,
  keys: readonly DeviceKey[],
): Promise<Noticed> {
  const users = [...new Set(keys.map(({ userId }) => userId))]
  const records = await recordsOf(context, users)
  const ops: Op[] = []
  const events: MessengerEvent[] = []
  for (const [userId, record] of records) {
    if (record.status !== Status.VERIFIED) continue
    const accepted = new Set(record.acceptedKeys.map(hex))
    const others = keys.filter((one) => one.userId === userId && !accepted.has(hex(one.key)))
    if (others.length === 0) continue
    const known = new Set((await changedKeys(context, userId)).map(({ key }) => hex(key)))
    const fresh = others.filter(({ key }) => !known.has(hex(key)))
    const seenAtMs = BigInt(context.clock.nowMs())
    for (const { deviceId, key } of others) ops.push(await putChangedKey(context, { userId, deviceId, key, seenAtMs }))
    if (fresh.length === 0) continue
    const deviceIds = fresh.map(({ deviceId }) => deviceId)
    events.push({ is: "keysChanged", userId, deviceIds, listFault: undefined })
  }
  return { ops, events }
}

/**
 * Checks that no member's keys have changed since they were compared.
 *
 * @throws MessagingError KEYS_CHANGED if a member's keys differ from the compared ones, or the group was replaced
 *   since.
 */
export async function ensureCompared(
  context: Storage & Pick<Context, "device">,
  record: ConversationRecord | undefined,
  group: GroupState,
): Promise<void> {
  if (record?.asksConfirmation) {
    throw new MessagingError("KEYS_CHANGED", "the group was replaced after the comparison: compare the keys again")
  }
  const users = [...new Set(deviceKeysIn(context, group).map(({ userId }) => userId))]
  for (const userId of (await recordsOf(context, users)).keys()) {
    if (statusOf(await readPeer(context, userId)) === "changed") {
      throw new MessagingError("KEYS_CHANGED", "a member has keys that were not compared")
    }
  }
}
