// Sends records to their objects. Each object accepts them while it receives this transfer, and refuses another
// place's.

import { Refused } from "@signet/kernel/errors"
import type { AttachmentId, ConversationId, DeviceId, PrincipalId } from "@signet/kernel/ids"
import { equalBytes } from "@signet/kernel/messaging/bytes"
import type { PlaceMoves, StoredRecord } from "@signet/kernel/messaging/moving"
import type { AttachmentRecord, Conversation } from "@signet/kernel/messaging/records"
import { ask } from "../asking.ts"
import type { DurableEnv } from "../env.ts"
import { inParallel } from "../in-parallel.ts"
import { keyName, pairName, placeName, userName } from "../names.ts"
import type { ConversationRecord } from "./conversation.ts"
import type { ClaimGiven, DeviceRecord } from "./device.ts"
import { invalid, requireOwn } from "./own.ts"
import type { Residence } from "./residence.ts"
import type { UserRecord } from "./user.ts"

type Of = Omit<Residence, "state">

/** The records of a page, by their object. */
interface Sorted {
  readonly users: Map<PrincipalId, UserRecord[]>
  readonly devices: Map<DeviceId, { user: string | null; records: (DeviceRecord | ClaimGiven)[] }>
  readonly conversations: Map<ConversationId, ConversationRecord[]>
  readonly attachments: AttachmentRecord[]
}

export const importPage =
  (env: DurableEnv): PlaceMoves["importPage"] =>
  async ({ place, transferId, records }) => {
    const of: Of = { place, transferId }
    const index = () => env.PLACES.getByName(placeName(place))
    const { state, transferId: ours } = await ask(() => index().status())
    if (state !== "RECEIVING" || ours === null || !equalBytes(ours, transferId)) throw new Refused("STATE_CONFLICT")
    await requireOwn(env, place, records)
    const sorted = await sort(env, of, records)
    const made = records.flatMap((one) => (one.is === "conversation" ? [one.conversation] : []))
    // The place's index first, so that an interrupted import can be found and erased.
    const isAdmitted = await ask(() => index().admitAll(transferId, [...sorted.users.keys()], made.map(indexed)))
    if (!isAdmitted) throw new Refused("STATE_CONFLICT")
    for (const [userId, own] of sorted.users) await importUser(env, of, userId, own)
    await each([...sorted.conversations], ([id, own]) => env.CONVERSATIONS.getByName(id).importRecords(of, own))
    for (const conversation of made) await takePair(env, of, conversation)
    await each([...sorted.devices], ([id, { user, records }]) =>
      env.DEVICES.getByName(id).importRecords(of, user, records),
    )
    await each(sorted.attachments, async (one) => {
      const { id, ownerDeviceId, idempotencyKey } = one
      const isKept = await env.DEVICES.getByName(ownerDeviceId).importAttachmentKey(of, idempotencyKey, id)
      return isKept && env.ATTACHMENTS.getByName(id satisfies AttachmentId).importRecord(of, one)
    })
  }

const indexed = ({ id, createdAtMs }: Conversation) => ({ id, createdAtMs })

/** @throws Refused INVALID_FIELD when an object refuses. */
async function each<One>(all: readonly One[], put: (one: One) => Promise<boolean>): Promise<void> {
  const taken = await inParallel(all, (one) => ask(() => put(one)))
  if (taken.includes(false)) throw invalid()
}

async function sort(env: DurableEnv, of: Of, records: readonly StoredRecord[]): Promise<Sorted> {
  const sorted: Sorted = { users: new Map(), devices: new Map(), conversations: new Map(), attachments: [] }
  const ofUser = (userId: PrincipalId, record: UserRecord) => add(sorted.users, userId, record)
  const ofConversation = (id: ConversationId, record: ConversationRecord) => add(sorted.conversations, id, record)
  const device = (id: DeviceId) => {
    const there = sorted.devices.get(id) ?? { user: null, records: [] }
    sorted.devices.set(id, there)
    return there
  }
  for (const record of records) {
    switch (record.is) {
      case "device":
        device(record.device.id).user = userName(record.device.userId, of.place)
        ofUser(record.device.userId, record)
        break
      case "deviceList":
      case "blockList":
      case "backup":
        ofUser(record.userId, record)
        break
      case "proofNonce":
      case "initKey":
      case "groupKey":
        device(record.deviceId).records.push(record)
        break
      case "keyPackage":
        device(record.keyPackage.deviceId).records.push(record)
        break
      case "claim": {
        const packages = await Promise.all(
          record.packages.map(async ({ deviceId, ref }) => {
            const inPage = records.find(
              (one) =>
                one.is === "keyPackage" && equalBytes(one.keyPackage.ref, ref) && one.keyPackage.deviceId === deviceId,
            )
            if (inPage?.is === "keyPackage") return inPage.keyPackage
            return ask(() => env.DEVICES.getByName(deviceId).findPackage(of.place, ref))
          }),
        )
        const found = packages.flatMap((one) => one ?? [])
        if (found.length < packages.length) throw invalid()
        device(record.claim.requesterDeviceId).records.push({ is: "claimGiven", claim: record.claim, packages: found })
        break
      }
      case "welcome":
        device(record.welcome.deviceId).records.push(record)
        ofConversation(record.welcome.conversationId, record)
        break
      case "conversation":
        ofConversation(record.conversation.id, { ...record, conversation: { ...record.conversation, ...of.place } })
        break
      case "attachment":
        sorted.attachments.push(record.attachment)
        break
      default:
        ofConversation(record.conversationId, record)
    }
  }
  return sorted
}

function add<Key, One>(map: Map<Key, One[]>, key: Key, one: One): void {
  const there = map.get(key)
  if (there === undefined) map.set(key, [one])
  else there.push(one)
}

/** Imports a user after taking the names of all leaf keys of its devices. */
async function importUser(env: DurableEnv, of: Of, userId: PrincipalId, records: readonly UserRecord[]): Promise<void> {
  const at = userName(userId, of.place)
  for (const record of records) {
    if (record.is !== "device") continue
    for (const leafKey of record.leafKeys) {
      const holder = await ask(() => env.NAMES.getByName(keyName(leafKey)).take({ owner: record.device.id, at }))
      if (holder.owner !== record.device.id || holder.at !== at) throw invalid()
    }
  }
  const isTaken = await ask(() => env.USERS.getByName(at).importRecords(of, userId, records))
  if (!isTaken) throw invalid()
}

/** At most one conversation of a pair is open: that one gets the name, otherwise a closed one. */
async function takePair(env: DurableEnv, { place }: Of, conversation: Conversation): Promise<void> {
  if (conversation.kind !== "DIRECT") return
  const name = () => env.NAMES.getByName(pairName(place, conversation.userIds))
  const owner = { owner: conversation.id, at: "" }
  const holder = await ask(() => name().take(owner))
  if (holder.owner !== conversation.id && conversation.status !== "CLOSED") {
    await ask(() => name().replace(holder.owner, owner))
  }
}
