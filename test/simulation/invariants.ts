// What must hold when a run is over, whatever happened in it.
import { type ConversationId, type DeviceId, parseId } from "@signet/kernel/ids"
import { isOnTheWayOut } from "@signet/kernel/messaging/directive"
import type { Envelope } from "@signet/kernel/messaging/records"
import type { Messenger, TimelineEntry } from "../../clients/core/messaging/index.ts"
import { deviceSpace, type Table } from "../../clients/core/messaging/store/store.ts"
import type { Cast } from "./actions.ts"
import type { SimulatedDevice } from "./device.ts"
import type { Hostility } from "./hostile.ts"
import { isForgotten, statesOf } from "./restored-service.ts"
import type { Kept } from "./service/conversations.ts"
import { hexOf } from "./watched.ts"

/** A device at the end, and what it knows. */
interface Known {
  readonly device: SimulatedDevice
  readonly messenger: Messenger
  readonly isRevoked: boolean
  readonly timelines: ReadonlyMap<string, readonly TimelineEntry[]>
}

/** @param hostility undefined for a service that told the truth all the time. @returns What does not hold, in words. */
export async function violationsOf(cast: Cast, hostility: Hostility | undefined, ghost: string): Promise<string[]> {
  const isHonest = hostility === undefined
  const { service, watching, bugs, written } = cast
  const found = [...watching.violations, ...bugs, ...service.faults.map((fault) => `the service fails: ${fault}`)]
  const known = await Promise.all(cast.devices.map((device) => knownOf(cast, device)))
  const here = known.filter((one) => one !== undefined)
  // Who was revoked is told nothing any more: what it has read still counts.
  const able = here.filter(({ isRevoked }) => !isRevoked)
  for (const kept of service.conversations.all.values()) {
    found.push(...onlyWhileMember(cast, kept, here), ...readOnce(cast, kept, here, isHonest))
    // Whoever leaves as the last one closes it, and reads no more: its own last message neither.
    if (kept.conversation.status === "CLOSED") {
      if (isHonest) for (const one of able) found.push(...(await waitsInClosed(kept, one)))
      continue
    }
    if (!isHonest) found.push(...(await untold(cast, kept, able)))
    // Where all were deceived, nobody is left to let anybody in again.
    if (!isHonest && !(await isAnyActive(cast, kept, able))) continue
    if (isHonest && (await isLost(cast, kept, able))) continue
    if (isHonest) found.push(...allRead(cast, kept, able))
    if (!isHonest || cast.restored !== undefined) found.push(...heardAgain(cast, kept, able))
    // Keys of skipped messages are kept, so the order of delivery makes no message unreadable.
    if (hostility === "late messages") found.push(...unreadableIn(kept, able))
    // Who was told of another commit than the one that removed it, is told nothing any more.
    const asked = isHonest ? able : able.filter((one) => isMember(kept.conversation, one))
    for (const one of asked) found.push(...(await converged(cast, kept, one)))
  }
  // A service that tells two stories gets two groups; they never hear of each other.
  if (hostility !== "equivocation") {
    for (const [place, tags] of watching.tags) {
      if (tags.size > statesOf(cast, place)) found.push(`two states of one epoch: ${place}`)
    }
  }
  for (const one of here) found.push(...(await haunted(one, ghost)))
  if (isHonest) {
    for (const { device } of able) found.push(...(await unresolved(cast, device)))
    for (const one of written) found.push(...(await placeOf(cast, one, here)))
  }
  return [...new Set(found)]
}

async function knownOf(cast: Cast, device: SimulatedDevice): Promise<Known | undefined> {
  const { messenger } = device
  if (messenger === undefined) return undefined
  const timelines = new Map<string, readonly TimelineEntry[]>()
  for (const id of cast.service.conversations.all.keys()) {
    timelines.set(id, await messenger.timeline(id, { limit: 10_000 }))
  }
  const own = cast.service.deps.store.devices.find(deviceIdOf(messenger))
  return { device, messenger, isRevoked: (await own)?.status === "REVOKED", timelines }
}

function deviceIdOf({ deviceId }: Messenger): DeviceId {
  const id = parseId("dev", deviceId)
  if (id === undefined) throw new Error("a device has an id")
  return id
}

const textOf = (entry: TimelineEntry) =>
  entry.is === "message" ? new TextDecoder().decode(entry.plaintext) : undefined
const timelineOf = ({ timelines }: Known, { conversation }: Kept) => timelines.get(conversation.id) ?? []

/** Nobody opens what was said before it came or after it went. */
function onlyWhileMember({ watching }: Cast, kept: Kept, known: readonly Known[]): string[] {
  return known.flatMap(({ device: { name }, messenger }) => {
    const spans = kept.spans.filter(({ deviceId }) => deviceId === messenger.deviceId)
    const isIn = (seq: bigint) => spans.some(({ fromSeq, toSeq }) => fromSeq < seq && (toSeq === null || seq < toSeq))
    const outside = kept.log.filter(({ seq, message }) => !isIn(seq) && watching.hasOpened(name, message))
    return outside.map(({ seq }) => `${name} opens ${seq}, and was no member then`)
  })
}

/** No message is read twice, and its place holds the same for all who read it. */
function readOnce(
  { watching, written, restored }: Cast,
  kept: Kept,
  known: readonly Known[],
  isHonest: boolean,
): string[] {
  const found: string[] = []
  const placeOfText = new Map<string, bigint>()
  for (const one of known) {
    const texts = new Map<string, number>()
    for (const entry of timelineOf(one, kept)) {
      const text = textOf(entry)
      if (text === undefined) continue
      const times = (texts.get(text) ?? 0) + 1
      texts.set(text, times)
      // Whoever is not told that its message was taken, says it again.
      const by = written.find((message) => message.text === text)?.device ?? ""
      const most = isHonest ? 1 : watching.timesSealed(by, text)
      if (times > most) found.push(`${one.device.name} reads "${text}" twice`)
      // Places are the service's word. A message whose number it has lost has another one for those who had not read it.
      const isFixed = isHonest && restored === undefined
      if (isFixed && (placeOfText.get(text) ?? entry.seq) !== entry.seq) found.push(`"${text}" is at two places`)
      placeOfText.set(text, entry.seq)
    }
  }
  return found
}

/**
 * @param end After this number a message of another epoch is allowed. Default: it is allowed nowhere.
 * @param forgetsAfter After this number an own message is allowed that the device does not know. Default: nowhere. One
 *   that was imported is of another device, whose store was an older copy.
 */
const unreadableIn = (
  kept: Kept,
  known: readonly Known[],
  {
    end,
    forgetsAfter,
    isCopyKnown = false,
  }: { end?: bigint | undefined; forgetsAfter?: bigint | undefined; isCopyKnown?: boolean } = {},
): string[] =>
  known.flatMap((one) =>
    timelineOf(one, kept).flatMap((entry) =>
      entry.is === "unreadable" &&
      !(end !== undefined && entry.seq > end && entry.reason === "EPOCH_GAP") &&
      !(forgetsAfter !== undefined && entry.seq > forgetsAfter && entry.reason === "OWN_UNKNOWN") &&
      !(isCopyKnown && entry.imported !== undefined && entry.reason === "OWN_UNKNOWN")
        ? [`${one.device.name} cannot read ${entry.seq}: ${entry.reason}`]
        : [],
    ),
  )

/** Every message that was said while a device was in, it has; and nothing that it could not open. */
function allRead({ watching, restored, rewound }: Cast, kept: Kept, known: readonly Known[]): string[] {
  const found: string[] = []
  const said = kept.log.filter(({ kind }) => kind === "APPLICATION")
  for (const one of known) {
    const entries = timelineOf(one, kept)
    const isSaid = ({ is }: TimelineEntry) => is === "message" || is === "attachment"
    const bySeq = new Map(entries.filter(isSaid).map((entry) => [entry.seq, entry]))
    const gaps = entries.filter((entry) => entry.is === "gap")
    // A device whose epoch was lost has no keys of the earlier one, in which others write until it rejoins.
    const end = restored === undefined ? undefined : (restored.ends.get(kept.conversation.id) ?? 0n)
    const forgets = rewound.get(one.device.name)
    const forgetsAfter = forgets && (forgets.ends.get(kept.conversation.id) ?? 0n)
    found.push(...unreadableIn(kept, [one], { end, forgetsAfter, isCopyKnown: rewound.size > 0 }))
    const texts = new Set(restored === undefined ? [] : entries.map(textOf))
    // A device whose store is an older copy shows that it sent a message, but cannot open it.
    const isOwnUnknown = (seq: bigint) =>
      forgetsAfter !== undefined &&
      seq > forgetsAfter &&
      entries.some((entry) => entry.is === "unreadable" && entry.seq === seq)
    // A message that was sent again is shown where it was read first.
    const isShown = ({ seq, message }: Envelope) =>
      bySeq.has(seq) || isOwnUnknown(seq) || texts.has(watching.textIn(message) ?? "")
    for (const entry of entries) {
      // Members that have read on show that a sender's lost messages do not come.
      if (entry.is === "missing" && restored === undefined)
        found.push(`${one.device.name} misses ${entry.count} messages before ${entry.seq}`)
    }
    // Whoever never followed the welcome that it came in by, was let in without noticing.
    const isNoticed = ({ toSeq }: Kept["spans"][number]) =>
      toSeq === null ||
      entries.some((entry) => entry.is === "membership" && entry.seq === toSeq && entry.imported === undefined)
    for (const span of kept.spans) {
      if (span.deviceId !== one.messenger.deviceId || !isNoticed(span)) continue
      const missed = said.filter(
        (one) =>
          one.seq > span.fromSeq &&
          (span.toSeq === null || one.seq < span.toSeq) &&
          !isShown(one) &&
          !gaps.some((gap) => gap.afterSeq < one.seq && one.seq < gap.seq),
      )
      for (const { seq } of missed) found.push(`${one.device.name} misses ${seq} of ${kept.conversation.headSeq}`)
    }
  }
  return found
}

/** A closed conversation ends what waited in it: own messages and changes, and the wait to be added. */
async function waitsInClosed({ conversation: { id } }: Kept, { device, messenger }: Known): Promise<string[]> {
  const status = (await messenger.conversation(id))?.status
  if (status === "waiting") return [`${device.name} waits to be added to a closed conversation`]
  if (status !== "active" && status !== "leaving") return []
  const rows = (await Promise.all(toDo.map((table) => device.store.list(id, table)))).flat()
  return rows.length > 0 ? [`${device.name} has ${rows.length} to do in a closed conversation`] : []
}

/** Who is in, is active, at the end of the log, and with the members that the service counts. */
async function converged(cast: Cast, { conversation }: Kept, { device, messenger }: Known): Promise<string[]> {
  const { id, roster, headSeq, status } = conversation
  const info = await messenger.conversation(id)
  const isIn = isMember(conversation, { messenger })
  const what = `${device.name} is ${info?.status} in ${[...cast.service.conversations.all.keys()].indexOf(id)}`
  if (status !== "ACTIVE") return []
  if (!isIn && isForgotten(cast, id, messenger)) return []
  if (!isIn) return info?.status === "active" ? [`${what}, and no member`] : []
  if (info?.status !== "active") return [`${what}, and a member`]
  const members = new Set(roster.map(({ userId }): string => userId))
  const isSame = info.memberUserIds.length === members.size && info.memberUserIds.every((user) => members.has(user))
  return [
    ...(info.processedSeq === headSeq ? [] : [`${what}, at ${info.processedSeq} of ${headSeq}`]),
    ...(isSame ? [] : [`${what}, with other members than the service's`]),
  ]
}

const isMember = ({ roster }: Kept["conversation"], { messenger }: Pick<Known, "messenger">): boolean =>
  roster.some(({ deviceId }) => deviceId === messenger.deviceId)

/**
 * True if no device that stays can commit: all were offline for too long, or the others left while one waited to be
 * added again. Each of these devices then reports `stranded`, or has not received its welcome. In a direct conversation
 * a stranded device resets the group, unless the other user has no device that can be added.
 */
async function isLost(cast: Cast, { conversation }: Kept, known: readonly Known[]): Promise<boolean> {
  const { id, kind } = conversation
  const staying = stayingIn(conversation, known)
  const mayBeLost = cast.features.has("renewal") || cast.features.has("rejoins") || cast.rewound.size > 0
  if (!mayBeLost || staying.length === 0) return false
  const infos = await Promise.all(staying.map(({ messenger }) => messenger.conversation(id)))
  for (const [i, { device }] of kind === "DIRECT" ? staying.entries() : []) {
    if (infos[i]?.status === "stranded" && (await canAddOthers(cast.service, conversation, device.userId))) return false
  }
  return infos.every((info) => info === undefined || info.status === "stranded" || info.status === "removed")
}

/** Those who are in, and are not about to go. */
const stayingIn = ({ roster, directives }: Kept["conversation"], known: readonly Known[]): Known[] =>
  known.filter(({ messenger: { deviceId } }) =>
    roster.some((leaf) => leaf.deviceId === deviceId && isOnTheWayOut(directives, leaf) === undefined),
  )

/** Whoever is in another state than the service counts is told; where nobody is left who could let it in, that too. */
async function untold(cast: Cast, { conversation }: Kept, known: readonly Known[]): Promise<string[]> {
  const { id } = conversation
  const staying = await Promise.all(
    stayingIn(conversation, known).map(async ({ device, messenger }) => ({
      name: device.name,
      status: (await messenger.conversation(id))?.status,
      isDeceived: isElsewhere(cast, conversation, device.name),
    })),
  )
  // Whoever was told that it is out, and is not, asks for nothing: so the others still wait for it.
  const isLost = !staying.some(({ status }) => status === "active" || status === "removed")
  return staying.flatMap(({ name, status, isDeceived }) => [
    ...(isDeceived && status === "active" ? [`${name} was deceived, and is not told`] : []),
    ...(isLost && status !== "stranded" ? [`${name} is ${status}, where nobody is left to let it in`] : []),
  ])
}

/** Whether somebody follows it who stays, and is not alone: so it can let the others in again. */
async function isAnyActive(cast: Cast, { conversation }: Kept, known: readonly Known[]): Promise<boolean> {
  const { id } = conversation
  const staying = stayingIn(conversation, known)
  const following = staying.filter(({ device }) => !isElsewhere(cast, conversation, device.name))
  const infos = await Promise.all(following.map(({ messenger }) => messenger.conversation(id)))
  return staying.length > 1 && infos.some((info) => info?.status === "active")
}

/** Whether it has acted in another state of this epoch than the one that the service counts, and never in that one. */
function isElsewhere({ watching }: Cast, { mlsGroupId, epoch, state }: Kept["conversation"], device: string): boolean {
  const counted = hexOf(state?.stateTag ?? new Uint8Array())
  const tags = [...(watching.tags.get(`${hexOf(mlsGroupId)} ${epoch}`) ?? [])]
  const own = tags.filter(([, devices]) => devices.has(device)).map(([tag]) => tag)
  return own.length > 0 && !own.includes(counted)
}

/** What is said when a service tells the truth again, is read by all who are in. */
function heardAgain({ written }: Cast, { conversation }: Kept, known: readonly Known[]): string[] {
  const here = known.filter((one) => isMember(conversation, one))
  const said = written.filter(
    ({ isAfterAll, conversationId, device }) =>
      isAfterAll && conversationId === conversation.id && here.some((one) => one.device.name === device),
  )
  return here.flatMap(({ device, timelines }) => {
    const texts = new Set(timelines.get(conversation.id)?.map(textOf))
    return said.filter(({ text }) => !texts.has(text)).map(({ text }) => `${device.name} does not hear "${text}"`)
  })
}

/** Nobody is in with a user whom nobody asked for. */
async function haunted({ device, messenger }: Known, ghost: string): Promise<string[]> {
  const all = await messenger.conversations()
  return all.some(({ memberUserIds }) => memberUserIds.includes(ghost)) ? [`${device.name} is in with a ghost`] : []
}

const toDo: readonly Table[] = ["intent", "staged", "outbox", "creation"]

/** What was asked for is done, or was refused: nothing waits where something could be done. */
async function unresolved(cast: Cast, device: SimulatedDevice): Promise<string[]> {
  const { name, store, messenger } = device
  const { service } = cast
  const found: string[] = []
  // One that is closed takes nothing, and from whoever is about to go neither.
  const closed = [...service.conversations.all.values()].filter(
    ({ conversation: { status, roster, directives } }) =>
      status === "CLOSED" ||
      roster.some((leaf) => leaf.deviceId === messenger?.deviceId && isOnTheWayOut(directives, leaf) !== undefined),
  )
  for (const space of await store.spaces()) {
    if (closed.some(({ conversation }) => conversation.id === space)) continue
    const isOut = [...service.conversations.all.values()].every(
      ({ conversation }) =>
        conversation.id !== space || messenger === undefined || !isMember(conversation, { messenger }),
    )
    if (isOut && messenger !== undefined && isForgotten(cast, space, messenger)) continue
    const info = space === deviceSpace ? undefined : await messenger?.conversation(space)
    if (space !== deviceSpace && info?.status !== "active") continue
    for (const table of toDo) {
      const rows = await store.list(space, table)
      if (table === "creation" && rows.length === (await stillAlone(service, device))) continue
      if (rows.length > 0) found.push(`${name} has ${rows.length} of ${table} to do still`)
    }
  }
  return found
}

function answeredId(text: string): ConversationId {
  const id = parseId("cnv", text)
  if (id === undefined) throw new TypeError(`no conversation's name: ${text}`)
  return id
}

/** How many conversations wait for key packages, of users who truly have none. */
async function stillAlone(service: Cast["service"], { messenger, userId: own }: SimulatedDevice): Promise<number> {
  let count = 0
  for (const { id, waitsFor } of (await messenger?.conversations()) ?? []) {
    if (waitsFor !== "keyPackages") continue
    const conversation = await service.deps.store.conversations.find(answeredId(id))
    if (conversation === undefined || !(await canAddOthers(service, conversation, own))) count++
  }
  return count
}

/** True if another user of the conversation has a device with a key package. */
async function canAddOthers(
  { deps: { store, clock } }: Cast["service"],
  conversation: Kept["conversation"],
  own: string,
): Promise<boolean> {
  const users = conversation.userIds.filter((userId) => userId !== own)
  const devices = await store.devices.activeOf(users, conversation)
  const left = await Promise.all(devices.map((one) => store.keyPackages.inventory(one.id, clock.nowMs())))
  return left.some(({ available, hasLastResort }) => available > 0 || hasLastResort)
}

/**
 * A sent message has the position that the service returned. A stored message of a member that stayed is in the log or in
 * its outbox. A message of a member that has left does not wait: the device reported it as unsent, also if no member is
 * left to remove the device.
 */
async function placeOf(
  { service, rewound, written: all }: Cast,
  written: Cast["written"][number],
  known: readonly Known[],
): Promise<string[]> {
  const { text, device, conversationId, outcome, seq } = written
  const own = known.find((one) => one.device.name === device)
  if (own === undefined) return []
  const forgets = rewound.get(device)
  const index = all.indexOf(written)
  if (forgets?.running.has(written)) return []
  if (forgets !== undefined && index >= forgets.writtenFrom && index < forgets.writtenUntil) return []
  const found = own.timelines.get(conversationId)?.find((entry) => textOf(entry) === text)
  if (outcome === "refused" && found !== undefined) return [`"${text}" was refused, and sent`]
  const status = (await own.messenger.conversation(conversationId))?.status
  // The copy still waits to send it, and nobody is left who can add the device.
  if (forgets !== undefined && status === "stranded") return []
  if (outcome === "sent" && found?.seq !== seq) return [`"${text}" was sent to ${seq} and is at ${found?.seq}`]
  const kept = [...service.conversations.all.values()].find(({ conversation }) => conversation.id === conversationId)
  const spans = kept?.spans.filter(({ deviceId }) => deviceId === own.messenger.deviceId) ?? []
  const hasStayed = kept?.conversation.status === "ACTIVE" && spans.length === 1 && spans[0]?.toSeq === null
  const isStored = outcome === "stored" && found === undefined && hasStayed && !own.isRevoked
  if (!isStored) return []
  if (status === "stranded") return []
  if (status === "leaving") {
    const waiting = await own.messenger.outbox(conversationId)
    return waiting.length > 0 ? [`"${text}" waits, and ${device} has left`] : []
  }
  return [`"${text}" was stored, and is nowhere`]
}
