import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { type Device, Device_Status } from "@signet/proto/messaging/v1/records"
import { credentialIn, realmOf, verifyMember } from "../checks/credential.ts"
import { rosterOf } from "../checks/roster.ts"
import { isVerdict, mayBeStaleKeys } from "../checks/verdict.ts"
import type { Context } from "../context.ts"
import { pause } from "../conversation/backoff.ts"
import type { Trust } from "../deps.ts"
import { MessagingError } from "../errors.ts"
import { idOf } from "../ids.ts"
import { refusingAs } from "../refusing.ts"
import { ask } from "../sending/intents.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { deviceSpace } from "../store/store.ts"
import { trying } from "../sync/background.ts"
import { allPages } from "../sync/pages.ts"

export const listDevices = ({ calls }: Pick<Context, "calls">, userId = ""): Promise<Device[]> =>
  allPages(async (pageToken) => {
    const { devices, nextPageToken } = await calls.devices.listDevices({ userId, pageToken })
    return { items: devices, nextPageToken }
  })

/** A device is in the list before its key packages are there: then it is tried again. Milliseconds. */
const againMs = [1_000, 5_000, 30_000] as const

/** Lets a device of the user in that has just come. */
export async function addNewOwnDevices(context: Context): Promise<void> {
  for (const waitMs of againMs) {
    if (await addOwnDevices(context)) return
    await pause(context.clock, waitMs)
  }
  await addOwnDevices(context)
}

/** Lets the user's other devices into every conversation that this one is in. @returns Whether all of them were in already. */
export async function addOwnDevices(context: Context): Promise<boolean> {
  return addMissing(context, context.owner.userId, async (conversationId, active) => {
    const conversation = context.conversation(conversationId)
    const { outline } = (await conversation.record()) ?? {}
    // All of them are in: the state is not opened for that.
    if (outline !== undefined && active.every((id) => outline.ownDeviceIds.includes(id))) return undefined
    return conversation.stored()
  })
}

/** The user's own devices come first: theirs is the shorter way. */
const longestWaitMs = 10_000

/** Lets a device of another user in, where the user has none that could do it, or none that is online. */
export async function addDevicesOf(context: Context, userId: string): Promise<void> {
  const [byte = 0] = context.random.bytes(1)
  await pause(context.clock, (longestWaitMs * (256 + byte)) / 512)
  await addMissing(context, userId, async (conversationId) => {
    const conversation = context.conversation(conversationId)
    const { record, memberUserIds } = await conversation.summary()
    const isTheirs = memberUserIds.includes(userId) || record?.directUserIds.includes(userId) === true
    return isTheirs ? conversation.stored() : undefined
  })
}

/** What is stored of a conversation that their devices belong into; undefined for another one. */
type Opening = (conversationId: string, active: readonly string[]) => Promise<StoredConversation | undefined>

async function addMissing(context: Context, userId: string, openIfTheirs: Opening): Promise<boolean> {
  let isAnyMissing = false
  const devices = (await listDevices(context, userId)).filter(({ status }) => status === Device_Status.ACTIVE)
  const active = devices.map(({ id }) => id)
  for (const conversationId of await context.store.spaces()) {
    if (conversationId === deviceSpace) continue
    await trying(context, conversationId, async () => {
      const stored = await openIfTheirs(conversationId, active)
      if (stored?.local === undefined || stored.record?.status !== Status.ACTIVE) return
      const roster = rosterOf(stored.local.group)
      const missing = devices.filter(({ id }) => !roster.has(id))
      isAnyMissing ||= missing.length > 0
      for (const device of missing) await ensureTheirs(context, userId, device)
      const add = { case: "add", value: { deviceIds: missing.map(({ id }) => id) } } as const
      if (missing.length > 0) await ask(context.conversation(conversationId), add)
    })
  }
  return !isAnyMissing
}

/**
 * Whose a device is, its credential says, and not the service: else it would have anybody let in by this device itself.
 *
 * @throws MessagingError ANSWER_REFUSED
 */
async function ensureTheirs(context: Context, userId: string, { id, credential }: Device): Promise<void> {
  const body = () => {
    const leaf = { credential, signatureKey: credentialIn(credential).leafSignatureKey }
    return verifyMember(realmOf(context), leaf, "ever").body
  }
  const found = await refusingAs("ANSWER_REFUSED", () => withFreshKeys(context, body))
  const isTheirs = idOf("prn", found.userId) === userId && idOf("dev", found.deviceId) === id
  if (!isTheirs) throw new MessagingError("ANSWER_REFUSED", "a device that is somebody else's")
}

async function withFreshKeys<T>({ issuer }: Pick<Trust, "issuer">, work: () => T): Promise<T> {
  try {
    return work()
  } catch (error) {
    if (!isVerdict(error) || !mayBeStaleKeys(error)) throw error
    await issuer.refresh()
    return work()
  }
}
