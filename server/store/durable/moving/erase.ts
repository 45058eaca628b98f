// Erases a moved place: attachments after their bytes, then conversations, then users with their devices.

import { Refused } from "@signet/kernel/errors"
import { equalBytes } from "@signet/kernel/messaging/bytes"
import type { PlaceMoves, PlaceStatus } from "@signet/kernel/messaging/moving"
import type { Place } from "@signet/kernel/messaging/records"
import { ask } from "../asking.ts"
import type { DurableEnv } from "../env.ts"
import { inParallel } from "../in-parallel.ts"
import { keyName, pairName, placeName, userName } from "../names.ts"
import { listAttachments } from "./export.ts"

const atOnce = 50

export const erase =
  (env: DurableEnv): PlaceMoves["erase"] =>
  async ({ place, transferId, bytesDeleted, audit }) => {
    const index = () => env.PLACES.getByName(placeName(place))
    const status = await ask(() => index().status())
    if (!mayErase(status, transferId)) throw new Refused("STATE_CONFLICT")
    const { attachments, attachmentsOf } = listAttachments(env)
    for (const { id, ownerDeviceId, idempotencyKey } of await attachmentsOf(place, bytesDeleted)) {
      await eraseObject(() => env.ATTACHMENTS.getByName(id).eraseAll(place))
      await ask(() => env.DEVICES.getByName(ownerDeviceId).freeAttachmentKey(idempotencyKey, id))
    }
    const left = await attachments(place, "")
    if (left.attachments.length > 0) return left.attachments
    if (await eraseConversations(env, place)) return []
    const wasEmpty = status.isEmpty
    const isMore = await eraseUsers(env, place)
    if (!isMore && !wasEmpty) await ask(() => index().erased(audit))
    return []
  }

/** @throws Refused UNAVAILABLE while an object has undelivered outbox entries. */
async function eraseObject(erase: () => Promise<boolean>): Promise<void> {
  if (!(await ask(erase)))
    throw new Refused("UNAVAILABLE", { message: "pending audit events must be delivered first: call again" })
}

const mayErase = ({ state, transferId: of }: PlaceStatus, transferId: Uint8Array): boolean =>
  state === "MOVED" || (state === "RECEIVING" && of !== null && equalBytes(of, transferId))

/** @returns True if there were any. */
async function eraseConversations(env: DurableEnv, place: Place): Promise<boolean> {
  const index = () => env.PLACES.getByName(placeName(place))
  const ids = await ask(() => index().conversations({ after: null, size: atOnce }))
  await inParallel(ids, async (id) => {
    const conversation = () => env.CONVERSATIONS.getByName(id)
    const found = await ask(() => conversation().find())
    if (found?.kind === "DIRECT") await ask(() => env.NAMES.getByName(pairName(place, found.userIds)).release(id))
    await eraseObject(() => conversation().eraseAll(place))
  })
  if (ids.length > 0) await ask(() => index().forget([], ids))
  return ids.length > 0
}

/** @returns True if there are more. */
async function eraseUsers(env: DurableEnv, place: Place): Promise<boolean> {
  const index = () => env.PLACES.getByName(placeName(place))
  const ids = await ask(() => index().users({ after: null, size: atOnce }))
  await inParallel(ids, async (userId) => {
    const user = () => env.USERS.getByName(userName(userId, place))
    for (const deviceId of await ask(() => user().deviceIds())) {
      await eraseObject(() => env.DEVICES.getByName(deviceId).eraseAll(place))
      for (const leafKey of await ask(() => user().leafKeys())) {
        await ask(() => env.NAMES.getByName(keyName(leafKey)).release(deviceId))
      }
    }
    await ask(() => user().eraseArchives())
    await eraseObject(() => user().eraseAll(place))
  })
  if (ids.length > 0) await ask(() => index().forget(ids, []))
  return ids.length === atOnce
}
