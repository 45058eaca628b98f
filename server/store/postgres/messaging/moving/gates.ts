// Refuses writes at a place that is being moved. A write takes a share lock of a gate in the statement that locks its
// rows. At a closed place the statement finds nothing. A move first marks the place as held, so that no write begins, then closes
// each gate, which waits for the writes in progress. The database evaluates a waiting statement's conditions again.
import type { AttachmentId, ConversationId, DeviceId, WelcomeId } from "@signet/kernel/ids"
import { placeHeld } from "@signet/kernel/messaging/moving"
import type { Place } from "@signet/kernel/messaging/records"
import { type Database, run } from "../../sql.ts"
import { placeOf } from "../access.ts"

/** The last characters of ids: Crockford's base32. */
export const shards = [..."0123456789abcdefghjkmnpqrstvwxyz"]

/** True if the place with these columns, or parameters, is being moved or was moved. */
export const isClosed = (app: string, tenant: string): string =>
  `exists (select 1 from messaging_place place
    where place.app_id = ${app} and place.tenant_id = ${tenant} and place.state <> 'OPEN')`

// `offset 0`: a lookup for each row. Without it PostgreSQL may join, and then it reads the whole table.

/** As `isClosed`, for the conversation with this id. */
export const isClosedOf = (conversationId: string): string =>
  `exists (select 1 from conversation kept join messaging_place place
    on place.app_id = kept.app_id and place.tenant_id = kept.tenant_id
    where kept.id = ${conversationId} and place.state <> 'OPEN' offset 0)`

/** As `isClosed`, for the device with this id. */
export const isClosedOfDevice = (deviceId: string): string =>
  `exists (select 1 from messaging_device kept join messaging_place place
    on place.app_id = kept.app_id and place.tenant_id = kept.tenant_id
    where kept.id = ${deviceId} and place.state <> 'OPEN' offset 0)`

/**
 * The condition that the gate of this id is open, on a row of messaging_gate named `gate`. The statement ends with `for
 * share of gate`.
 */
export const isGateOpen = (app: string, tenant: string, id: string): string =>
  `gate.app_id = ${app} and gate.tenant_id = ${tenant} and gate.shard = right(${id}, 1) and gate.is_open
    and not ${isClosed(app, tenant)}`

const ofConversation = isGateOpen("conversation.app_id", "conversation.tenant_id", "conversation.id")

/** Follows `from conversation`: drops the conversations of closed places. */
export const joinGate = `join messaging_gate gate on ${ofConversation}`

const atPlace = `select 1 from messaging_gate gate where ${isGateOpen("$1", "$2", "$3::text")} for share of gate`
const texts = {
  conversation: `select 1 from conversation ${joinGate} where conversation.id = $1 for share of gate`,
  device: `select 1 from messaging_device device
    join messaging_gate gate on ${isGateOpen("device.app_id", "device.tenant_id", "device.id")}
    where device.id = $1 for share of gate`,
  welcome: `select 1 from welcome join conversation on conversation.id = welcome.conversation_id ${joinGate}
    where welcome.id = $1 for share of gate`,
  attachment: `select 1 from attachment join conversation on conversation.id = attachment.conversation_id ${joinGate}
    where attachment.id = $1 for share of gate`,
} as const
/** True if the place or the gate of this id is closed. A hold that is aborted opens the place first, then the gates. */
const isShut = (app: string, tenant: string, id: string): string => `(${isClosed(app, tenant)}
  or exists (select 1 from messaging_gate gate where gate.app_id = ${app} and gate.tenant_id = ${tenant}
    and gate.shard = right(${id}, 1) and not gate.is_open)) as is_closed`
const isConversationShut = isShut("conversation.app_id", "conversation.tenant_id", "conversation.id")
const whyTexts: Record<keyof typeof texts, string> = {
  conversation: `select ${isConversationShut} from conversation where id = $1`,
  device: `select ${isShut("device.app_id", "device.tenant_id", "device.id")} from messaging_device device where id = $1`,
  welcome: `select ${isConversationShut} from welcome join conversation on conversation.id = welcome.conversation_id
    where welcome.id = $1`,
  attachment: `select ${isConversationShut} from attachment
    join conversation on conversation.id = attachment.conversation_id where attachment.id = $1`,
}
const whyPlaceText = `select ${isShut("$1", "$2", "$3::text")}`
const makeText = `insert into messaging_gate (app_id, tenant_id, shard, is_open)
select $1::text, $2::text, shard, true from unnest($3::text[]) shard on conflict do nothing`

interface Subjects {
  conversation: ConversationId
  device: DeviceId
  welcome: WelcomeId
  attachment: AttachmentId
}

type Ask = <Row>(text: string, values: readonly unknown[]) => Promise<readonly Row[]>

/**
 * Takes a share lock of the record's gate until the transaction ends. For a missing record it does nothing: the caller
 * then finds none.
 *
 * @throws Refused PLACE_HELD
 */
export async function lockGate<K extends keyof Subjects>(trx: Database, of: K, id: Subjects[K]): Promise<void> {
  if ((await run(trx, texts[of], [id])).length > 0) return
  await refuseIfExists(trx, of, id)
}

/**
 * Refuses a write whose statement locked neither the record nor its gate. It refuses even if the place has opened since:
 * the next hold would not wait for a write without a gate's lock.
 *
 * @throws Refused PLACE_HELD unless the record is missing.
 */
export async function refuseIfExists<K extends keyof Subjects>(trx: Database, of: K, id: Subjects[K]): Promise<void> {
  if ((await run(trx, whyTexts[of], [id])).length > 0) throw placeHeld()
}

/** Called after a statement found nothing, which a closed place would explain. @throws Refused PLACE_HELD */
export async function refuseIfClosed<K extends keyof Subjects>(ask: Ask, of: K, id: Subjects[K]): Promise<void> {
  const [why] = await ask<{ is_closed: boolean }>(whyTexts[of], [id])
  if (why?.is_closed) throw placeHeld()
}

/** Takes a share lock of this id's gate, and makes the gates of a place without records. @throws Refused PLACE_HELD */
export async function lockPlaceGate(trx: Database, place: Place, id: string): Promise<void> {
  const at = placeOf(place)
  if ((await run(trx, atPlace, [...at, id])).length > 0) return
  await makeGates(trx, place)
  if ((await run(trx, atPlace, [...at, id])).length > 0) return
  const [why] = await run<{ is_closed: boolean }>(trx, whyPlaceText, [...at, id])
  if (why?.is_closed) throw placeHeld()
  throw new Error("a gate is missing")
}

export async function makeGates(trx: Database, place: Place): Promise<void> {
  await run(trx, makeText, [...placeOf(place), shards])
}
