// What keeps writes out of a place that is being moved. A write takes its share of a gate in the statement that locks
// what it changes; the statement finds nothing where the place is closed. Whoever holds a place tells so first, so that no
// more writes come, then closes each gate, which waits for the writes that had come: what a write saw before it waited,
// the database looks at again.
import type { AttachmentId, ConversationId, DeviceId, WelcomeId } from "@signet/kernel/ids"
import { placeHeld } from "@signet/kernel/messaging/moving"
import type { Place } from "@signet/kernel/messaging/records"
import { type Database, run } from "../../sql.ts"
import { placeOf } from "../access.ts"

/** The last characters that ids have: Crockford's base32. */
export const shards = [..."0123456789abcdefghjkmnpqrstvwxyz"]

/** The place with these columns, or parameters, is being moved or was. */
export const isClosed = (app: string, tenant: string): string =>
  `exists (select 1 from messaging_place place
    where place.app_id = ${app} and place.tenant_id = ${tenant} and place.state <> 'OPEN')`

/** Of the conversation with this id. */
export const isClosedOf = (conversationId: string): string =>
  `exists (select 1 from conversation kept join messaging_place place
    on place.app_id = kept.app_id and place.tenant_id = kept.tenant_id
    where kept.id = ${conversationId} and place.state <> 'OPEN')`

/** Of the device with this id. */
export const isClosedOfDevice = (deviceId: string): string =>
  `exists (select 1 from messaging_device kept join messaging_place place
    on place.app_id = kept.app_id and place.tenant_id = kept.tenant_id
    where kept.id = ${deviceId} and place.state <> 'OPEN')`

/** On a row of messaging_gate named `gate`: it lets writes to this id in. The statement ends with `for share of gate`. */
export const lets = (app: string, tenant: string, id: string): string =>
  `gate.app_id = ${app} and gate.tenant_id = ${tenant} and gate.shard = right(${id}, 1) and gate.is_open
    and not ${isClosed(app, tenant)}`

const ofConversation = lets("conversation.app_id", "conversation.tenant_id", "conversation.id")

/** After `from conversation`: nothing of a place that is closed. */
export const joinGate = `join messaging_gate gate on ${ofConversation}`

const atPlace = `select 1 from messaging_gate gate where ${lets("$1", "$2", "$3::text")} for share of gate`
const texts = {
  conversation: `select 1 from conversation ${joinGate} where conversation.id = $1 for share of gate`,
  device: `select 1 from messaging_device device
    join messaging_gate gate on ${lets("device.app_id", "device.tenant_id", "device.id")}
    where device.id = $1 for share of gate`,
  welcome: `select 1 from welcome join conversation on conversation.id = welcome.conversation_id ${joinGate}
    where welcome.id = $1 for share of gate`,
  attachment: `select 1 from attachment join conversation on conversation.id = attachment.conversation_id ${joinGate}
    where attachment.id = $1 for share of gate`,
} as const
const whyTexts: Record<keyof typeof texts, string> = {
  conversation: `select ${isClosed("app_id", "tenant_id")} as is_closed from conversation where id = $1`,
  device: `select ${isClosed("app_id", "tenant_id")} as is_closed from messaging_device where id = $1`,
  welcome: `select ${isClosedOf("welcome.conversation_id")} as is_closed from welcome where id = $1`,
  attachment: `select ${isClosedOf("attachment.conversation_id")} as is_closed from attachment where id = $1`,
}
const whyPlaceText = `select ${isClosed("$1", "$2")} as is_closed`
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
 * Enters the place of what is to be written, until the transaction ends. What is not there has no place: the caller finds
 * that out by itself.
 *
 * @throws Refused PLACE_HELD
 */
export async function enter<K extends keyof Subjects>(trx: Database, of: K, id: Subjects[K]): Promise<void> {
  if ((await run(trx, texts[of], [id])).length > 0) return
  await refuseIfClosed((text, values) => run(trx, text, values), of, id)
}

/** For a statement that found nothing, and might have because of that. @throws Refused PLACE_HELD */
export async function refuseIfClosed<K extends keyof Subjects>(ask: Ask, of: K, id: Subjects[K]): Promise<void> {
  const [why] = await ask<{ is_closed: boolean }>(whyTexts[of], [id])
  if (why?.is_closed) throw placeHeld()
}

/** Enters the place itself, with what is to be its first in it. @throws Refused PLACE_HELD */
export async function enterPlace(trx: Database, place: Place, id: string): Promise<void> {
  const at = placeOf(place)
  if ((await run(trx, atPlace, [...at, id])).length > 0) return
  await makeGates(trx, place)
  if ((await run(trx, atPlace, [...at, id])).length > 0) return
  const [why] = await run<{ is_closed: boolean }>(trx, whyPlaceText, at)
  if (why?.is_closed) throw placeHeld()
  throw new Error("a gate is missing")
}

export async function makeGates(trx: Database, place: Place): Promise<void> {
  await run(trx, makeText, [...placeOf(place), shards])
}
