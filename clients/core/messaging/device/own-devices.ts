import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { type Device, Device_Status } from "@signet/proto/messaging/v1/records"
import { credentialIn, realmOf, verifyMember } from "../checks/credential.ts"
import { rosterOf } from "../checks/roster.ts"
import { withFreshKeys } from "../checks/with-fresh-keys.ts"
import type { Context } from "../context.ts"
import { pause } from "../conversation/backoff.ts"
import { MessagingError } from "../errors.ts"
import { idOf } from "../ids.ts"
import { rethrowAs } from "../rethrow.ts"
import { ask } from "../sending/intents.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { deviceSpace } from "../store/store.ts"
import { trying } from "../sync/background.ts"
import { listDevices } from "../verification/device-lists.ts"

/** Delays of the retries in milliseconds: a device is listed before it has uploaded key packages. */
const againMs = [1_000, 5_000, 30_000] as const

/** Adds new devices of the user, and retries until they have key packages. */
export async function addNewOwnDevices(context: Context): Promise<void> {
  for (const waitMs of againMs) {
    if (await addOwnDevices(context)) return
    await pause(context.clock, waitMs)
  }
  await addOwnDevices(context)
}

/**
 * Adds the user's other devices to every conversation of this one.
 *
 * @returns True if all of them were members already.
 */
export async function addOwnDevices(context: Context): Promise<boolean> {
  return addMissing(context, context.owner.userId, async (conversationId, active) => {
    const conversation = context.conversation(conversationId)
    const { outline } = (await conversation.record()) ?? {}
    // All of them are members, by the record alone: the state is not opened.
    if (outline !== undefined && active.every((id) => outline.ownDeviceIds.includes(id))) return undefined
    return conversation.stored()
  })
}

/** Other members wait up to this long before they add a user's device, so that the user's own devices do it first. */
const longestWaitMs = 10_000

/** Adds a device of another user, if none of the user's own devices has done so. */
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

/** Returns the state of a conversation to which the devices belong; undefined for any other. */
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
 * Checks that a device's credential names the user. If the service could decide this, it could have any device added.
 *
 * @throws MessagingError ANSWER_REFUSED
 */
async function ensureTheirs(context: Context, userId: string, { id, credential }: Device): Promise<void> {
  const body = () => {
    const leaf = { credential, signatureKey: credentialIn(credential).leafSignatureKey }
    return verifyMember(realmOf(context), leaf, "ever").body
  }
  const found = await rethrowAs("ANSWER_REFUSED", () => withFreshKeys(context, body))
  const isTheirs = idOf("prn", found.userId) === userId && idOf("dev", found.deviceId) === id
  if (!isTheirs) throw new MessagingError("ANSWER_REFUSED", "the service answered with a device of another user")
}
