// Exports a place: users with their devices, the records that claims refer to, conversations, and the records of
// devices that refer to conversations. Object by object, each in pages.
import { Refused } from "@signet/kernel/errors"
import { type ConversationId, type DeviceId, type PrincipalId, parseId } from "@signet/kernel/ids"
import { mayExport, type PlaceMoves, type StoredRecord, type UserBackup } from "@signet/kernel/messaging/moving"
import type { AttachmentRecord, Place } from "@signet/kernel/messaging/records"
import { ask } from "../asking.ts"
import type { DurableEnv } from "../env.ts"
import { inParallel } from "../in-parallel.ts"
import { placeName, userName } from "../names.ts"
import { fromText, toText } from "../plain.ts"
import { allAttachments } from "./notify.ts"
import type { Page, Reached } from "./pages.ts"

const phases = ["users", "packages", "conversations", "conversational", "attachments"] as const
type Phase = (typeof phases)[number]

/** The next object, and the position in its records. */
interface Cursor {
  readonly phase: Phase
  /** The user or conversation; null before the first one. */
  readonly of: string | null
  /** The index of the user's device. */
  readonly device: number
  readonly from: Reached | null
}

const start: Cursor = { phase: "users", of: null, device: 0, from: null }

export const exportPage =
  (env: DurableEnv): PlaceMoves["exportPage"] =>
  async ({ place, transferId, cursor, maxBytes }) => {
    const status = await ask(() => env.PLACES.getByName(placeName(place)).status())
    if (!mayExport(status, transferId)) throw new Refused("STATE_CONFLICT")
    const records: StoredRecord[] = []
    let room = maxBytes
    for (let at: Cursor | null = cursor === "" ? start : parse(cursor); ; ) {
      if (at === null) return { records, next: null }
      if (at.of === null) {
        at = await next(env, place, at)
        continue
      }
      const page = await pageAt(env, place, at, { bytes: room, isFirst: records.length === 0 })
      if (page === undefined) {
        at = await next(env, place, at)
        continue
      }
      records.push(...page.records)
      room -= page.bytes
      if (page.next !== null) return { records, next: textOf({ ...at, from: page.next }) }
      const isOfDevice: boolean = at.phase === "packages" || at.phase === "conversational" || at.phase === "attachments"
      at = isOfDevice ? { ...at, device: at.device + 1, from: null } : await next(env, place, at)
      if (at !== null && room < maxBytes / 8) return { records, next: textOf(at) }
    }
  }

/** The next user or conversation, or the first of the next phase; null after the last one. */
async function next(env: DurableEnv, place: Place, at: Cursor): Promise<Cursor | null> {
  const index = env.PLACES.getByName(placeName(place))
  const [found] =
    at.phase === "conversations"
      ? await ask(() => index.conversations({ after: at.of as ConversationId | null, size: 1 }))
      : await ask(() => index.users({ after: at.of as PrincipalId | null, size: 1 }))
  if (found !== undefined) return { phase: at.phase, of: found, device: 0, from: null }
  const phase = phases[phases.indexOf(at.phase) + 1]
  return phase === undefined ? null : { phase, of: null, device: 0, from: null }
}

/** Undefined when the user has no such device. */
async function pageAt(
  env: DurableEnv,
  place: Place,
  { phase, of, device, from }: Cursor,
  room: { readonly bytes: number; readonly isFirst: boolean },
): Promise<Page | undefined> {
  if (phase === "conversations") {
    return ask(() => env.CONVERSATIONS.getByName(String(of)).exportPage(place, from, room))
  }
  const userId = of as PrincipalId
  const user = env.USERS.getByName(userName(userId, place))
  if (phase === "users") return ask(() => user.exportPage(userId, from, room))
  const id: DeviceId | undefined = (await ask(() => user.deviceIds()))[device]
  if (id === undefined) return undefined
  if (phase === "attachments") return attachmentsOf(env, place, id)
  const page = await ask(() => env.DEVICES.getByName(id).exportPage(place, phase, id, from, room))
  return phase === "conversational" ? { ...page, records: await known(env, page.records) } : page
}

/** Drops keys of groups that were never created. */
async function known(env: DurableEnv, records: readonly StoredRecord[]): Promise<readonly StoredRecord[]> {
  const ids = records.flatMap((one) => (one.is === "groupKey" ? [one.conversationId] : []))
  if (ids.length === 0) return records
  const made = await Promise.all(ids.map((id) => ask(() => env.CONVERSATIONS.getByName(id).find())))
  const isMade = new Set(made.flatMap((one) => one?.id ?? []))
  return records.filter((one) => one.is !== "groupKey" || isMade.has(one.conversationId))
}

/** All attachments of the device: a few hundred bytes each. */
async function attachmentsOf(env: DurableEnv, place: Place, id: DeviceId): Promise<Page> {
  const found = await foundAttachments(env, place, id)
  const records = found.map((attachment): StoredRecord => ({ is: "attachment", attachment }))
  return { records, bytes: records.length * 512, next: null }
}

/** The device's own attachments: a key may have been imported that names another device's. */
async function foundAttachments(env: DurableEnv, place: Place, id: DeviceId): Promise<readonly AttachmentRecord[]> {
  const ids = await allAttachments(env, place, id)
  const found = await Promise.all(ids.map((one) => ask(() => env.ATTACHMENTS.getByName(one).find())))
  return found.flatMap((one) => (one?.ownerDeviceId === id ? [one] : []))
}

export const listAttachments = (env: DurableEnv): Pick<PlaceMoves, "attachments" | "attachmentsOf"> => ({
  async attachments(place, cursor) {
    let at: Cursor | null = cursor === "" ? { ...start, phase: "attachments" } : parse(cursor)
    for (;;) {
      if (at?.of === null) at = await next(env, place, at)
      if (at === null || at.of === null) return { attachments: [], next: null }
      const user = env.USERS.getByName(userName(at.of as PrincipalId, place))
      const id: DeviceId | undefined = (await ask(() => user.deviceIds()))[at.device]
      if (id === undefined) {
        at = await next(env, place, at)
        if (at === null) return { attachments: [], next: null }
        continue
      }
      const attachments = await foundAttachments(env, place, id)
      at = { ...at, device: at.device + 1 }
      if (attachments.length > 0) return { attachments, next: textOf(at) }
    }
  },

  /** Read from the attachments' objects: an imported object knows its place. */
  async attachmentsOf(place, ids) {
    const found = await Promise.all(ids.map((id) => ask(() => env.ATTACHMENTS.getByName(id).find())))
    const all = found.flatMap((one) => one ?? [])
    const conversations = await Promise.all(
      all.map((one) => ask(() => env.CONVERSATIONS.getByName(one.conversationId).find())),
    )
    return all.filter((_, i) => {
      const of = conversations[i]
      return of?.appId === place.appId && of.tenantId === place.tenantId
    })
  },
})

const usersAtOnce = 20

export const listBackups = (env: DurableEnv): Pick<PlaceMoves, "backups" | "backupsOf"> => ({
  async backups(place, cursor) {
    const index = env.PLACES.getByName(placeName(place))
    const after = cursor === "" ? null : parseId("prn", cursor)
    if (after === undefined) throw new Refused("INVALID_FIELD", { metadata: { field: "cursor" } })
    const users = await ask(() => index.users({ after, size: usersAtOnce }))
    return { backups: await backupsOf(env, place, users), next: users.at(usersAtOnce - 1) ?? null }
  },
  backupsOf: (place, userIds) => backupsOf(env, place, userIds),
})

async function backupsOf(env: DurableEnv, place: Place, userIds: readonly PrincipalId[]): Promise<UserBackup[]> {
  const found = await inParallel(userIds, (userId) => ask(() => env.USERS.getByName(userName(userId, place)).backup()))
  return userIds.flatMap((userId, i) => {
    const archive = found[i]
    return archive === undefined ? [] : [{ userId, archive }]
  })
}

const textOf = (cursor: Cursor): string => Buffer.from(toText(cursor)).toString("base64url")

/** @throws Refused INVALID_FIELD */
function parse(text: string): Cursor {
  try {
    const cursor = fromText<Cursor>(Buffer.from(text, "base64url").toString())
    const isObject = cursor.of === null || (typeof cursor.of === "string" && /^[a-z]{3}_[0-9a-z]{26}$/.test(cursor.of))
    if (phases.includes(cursor.phase) && isObject && Number.isSafeInteger(cursor.device)) return cursor
  } catch {
    // Refused below.
  }
  throw new Refused("INVALID_FIELD", { metadata: { field: "cursor" } })
}
