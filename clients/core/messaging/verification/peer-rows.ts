// The stored rows about other users' keys: one record per user, and a row for each key after a comparison.
import { create } from "@bufbuild/protobuf"
import { sha256 } from "@noble/hashes/sha2.js"
import { equalBytes, utf8 } from "@signet/canonical/bytes"
import type { SeenDeviceList } from "@signet/canonical/device-list"
import {
  type ConversationRecord,
  type PeerKeyRecord,
  PeerKeyRecordSchema,
  VerificationRecord_Status as Status,
  type VerificationRecord,
  VerificationRecordSchema,
} from "@signet/proto/client/v1/records"
import { hex } from "../crypto/bytes.ts"
import type { Storage, Trust } from "../deps.ts"
import { MessagingError } from "../errors.ts"
import { deviceSpace, type Op } from "../store/store.ts"

type Needs = Storage

export type VerificationStatus = "unverified" | "verified" | "changed"

/** The verification record of a user, and the uncompared keys. */
export interface Peer {
  readonly record: VerificationRecord | undefined
  /** Uncompared keys of a user who was verified. */
  readonly changed: readonly PeerKeyRecord[]
}

/** Row names are hashes, so that they do not reveal the user's contacts. */
const nameOf = (text: string | Uint8Array) => hex(sha256(typeof text === "string" ? utf8(text) : text).subarray(0, 16))
const recordPlace = (userId: string) => ({ space: deviceSpace, table: "peer", key: nameOf(userId) }) as const
const keyPlace = (userId: string, key: Uint8Array) =>
  ({ space: deviceSpace, table: "peer", key: `${nameOf(userId)}:${nameOf(key)}` }) as const

/** Reads the records of the users who have one. */
export async function recordsOf(
  { store, rows }: Needs,
  userIds: readonly string[],
): Promise<Map<string, VerificationRecord>> {
  const { values } = await store.read(deviceSpace, userIds.map(recordPlace))
  const found = new Map<string, VerificationRecord>()
  for (const [i, userId] of userIds.entries()) {
    const sealed = values[i]
    if (sealed !== undefined) {
      found.set(userId, await rows.read(recordPlace(userId), VerificationRecordSchema, sealed))
    }
  }
  return found
}

/** True if a reset requires another comparison, because the keys of a member were compared. */
export async function asksConfirmation(
  needs: Needs & Pick<Trust, "owner">,
  { directUserIds, asksConfirmation: isAsked }: ConversationRecord,
): Promise<boolean> {
  if (isAsked) return true
  const others = directUserIds.filter((userId) => userId !== needs.owner.userId)
  const records = [...(await recordsOf(needs, others)).values()]
  return records.some(({ status }) => status === Status.VERIFIED || status === Status.CHANGED)
}

export async function readPeer(needs: Needs, userId: string): Promise<Peer> {
  const record = (await recordsOf(needs, [userId])).get(userId)
  return { record, changed: await changedKeys(needs, userId) }
}

export const changedKeys = (needs: Needs, userId: string): Promise<PeerKeyRecord[]> => keysUnder(needs, nameOf(userId))

/** Reads all keys of a user that were ever seen in a conversation. */
export const seenKeys = (needs: Needs, userId: string): Promise<PeerKeyRecord[]> =>
  keysUnder(needs, `seen:${nameOf(userId)}`)

async function keysUnder({ store, rows }: Needs, name: string): Promise<PeerKeyRecord[]> {
  const prefix = `${name}:`
  const found: PeerKeyRecord[] = []
  for (let after = name; ; ) {
    const page = await store.list(deviceSpace, "peer", { after, limit: 50 })
    for (const { key, value } of page) {
      if (!key.startsWith(prefix)) return found
      found.push(await rows.read({ space: deviceSpace, table: "peer", key }, PeerKeyRecordSchema, value))
      after = key
    }
    if (page.length === 0) return found
  }
}

export function statusOf({ record, changed }: Peer): VerificationStatus {
  switch (record?.status) {
    case Status.VERIFIED:
      return changed.length === 0 ? "verified" : "changed"
    case Status.CHANGED:
      return "changed"
    default:
      return "unverified"
  }
}

type PeerKey = Omit<PeerKeyRecord, "$typeName" | "$unknown">

/** Creates the row of an uncompared key. Idempotent. */
export async function putChangedKey({ rows }: Needs, key: PeerKey): Promise<Op> {
  return { ...(await rows.put(keyPlace(key.userId, key.key), PeerKeyRecordSchema, key)), space: deviceSpace }
}

/** Creates the row of a seen key. Rows are never removed, so conversations may write them concurrently. */
export async function putSeenKey({ rows }: Needs, key: PeerKey): Promise<Op> {
  const { deviceId, userId } = key
  const place = {
    space: deviceSpace,
    table: "peer",
    key: `seen:${nameOf(userId)}:${nameOf(utf8(deviceId + hex(key.key)))}`,
  } as const
  return { ...(await rows.put(place, PeerKeyRecordSchema, key)), space: deviceSpace }
}

export const removeChangedKey = ({ userId, key }: Pick<PeerKeyRecord, "userId" | "key">): Op => ({
  ...keyPlace(userId, key),
  op: "remove",
})

const maxRaces = 100

/** Reads the users whose keys were compared. A user with other keys since then has the status CHANGED. */
export async function comparedPeers(
  needs: Needs,
): Promise<{ readonly userId: string; readonly record: VerificationRecord }[]> {
  const records: [string, VerificationRecord][] = []
  const named = new Map<string, string>()
  for (let after = ""; ; ) {
    const page = await needs.store.list(deviceSpace, "peer", { after, limit: 50 })
    for (const { key, value } of page) {
      after = key
      const place = { space: deviceSpace, table: "peer", key } as const
      if (!key.includes(":")) records.push([key, await needs.rows.read(place, VerificationRecordSchema, value)])
      else {
        const { userId } = await needs.rows.read(place, PeerKeyRecordSchema, value)
        named.set(nameOf(userId), userId)
      }
    }
    if (page.length === 0) break
  }
  const found: { userId: string; record: VerificationRecord }[] = []
  for (const [key, record] of records) {
    // Records of earlier versions do not name their user, whose seen keys do.
    const userId = record.userId || named.get(key)
    const isCompared = record.status === Status.VERIFIED || record.status === Status.CHANGED
    if (userId === undefined || !isCompared) continue
    const { changed } = await readPeer(needs, userId)
    const status = changed.length > 0 ? Status.CHANGED : record.status
    found.push({ userId, record: create(VerificationRecordSchema, { ...record, userId, status }) })
  }
  return found
}

/** Stores the newest signed list of a user that this device has seen. */
export const rememberList = (
  needs: Needs,
  userId: string,
  { version, hash }: SeenDeviceList,
  ops: readonly Op[] = [],
): Promise<void> =>
  changePeer(
    needs,
    userId,
    (before) =>
      before.listVersion > version || (before.listVersion === version && equalBytes(before.listHash, hash))
        ? before
        : create(VerificationRecordSchema, { ...before, listVersion: version, listHash: hash }),
    ops,
  )

/** Changes a user's record, and repeats the change after a conflict. */
export async function changePeer(
  needs: Needs,
  userId: string,
  next: (before: VerificationRecord) => VerificationRecord,
  ops: readonly Op[] = [],
): Promise<void> {
  const { store, rows } = needs
  for (let race = 0; race < maxRaces; race++) {
    const place = recordPlace(userId)
    const { generation, values } = await store.read(deviceSpace, [place])
    const [sealed] = values
    const before =
      sealed === undefined
        ? create(VerificationRecordSchema, { status: Status.UNVERIFIED })
        : await rows.read(place, VerificationRecordSchema, sealed)
    const after = next(before)
    if (after === before && ops.length === 0) return
    const op = await rows.put(place, VerificationRecordSchema, { ...after, userId })
    if ((await store.transact(deviceSpace, generation, [op, ...ops])) === "ok") return
  }
  throw new MessagingError("STATE_TAMPERED", "the store rejects every write")
}
