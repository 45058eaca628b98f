// What people and their devices do in a run, and what became of each thing that was asked for.
import { create } from "@bufbuild/protobuf"
import type { PrincipalId } from "@signet/kernel/ids"
import { EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { failureOf } from "../../clients/core/errors.ts"
import { isUnreachable } from "../../clients/core/messaging/conversation/backoff.ts"
import { isMessagingError } from "../../clients/core/messaging/errors.ts"
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import { StoreFault } from "../../clients/core/messaging/testing/faulty-store.ts"
import { envelopeShape } from "../../server/rpc/messaging/conversation/conversation-shape.ts"
import { createDevice, type SimulatedDevice, type Stage } from "./device.ts"
import { reasonOf } from "./reason-of.ts"
import type { Seeded } from "./seeded.ts"

/** A message that somebody wrote. */
export interface Written {
  readonly text: string
  readonly device: string
  readonly conversationId: string
  /** Stored: it is to be sent. Unknown: the process ended over it. Refused: it is not to be sent. */
  outcome: "sent" | "stored" | "unknown" | "refused"
  seq: bigint | undefined
  /** The call has not returned. */
  isRunning: boolean
  /** It was written when a service that had turned told the truth again. */
  readonly isAfterAll: boolean
}

export interface Restored {
  /** The epochs that the service returned to, by group. */
  readonly epochs: ReadonlyMap<string, bigint>
  /** Where each log ended then, by conversation. */
  readonly ends: ReadonlyMap<string, bigint>
  /** Devices that a lost commit had added, by conversation. */
  readonly added: ReadonlyMap<string, readonly string[]>
}

/** A device whose store returned to an earlier copy. */
export interface Rewound {
  /** Up to where the copy had processed each conversation. */
  readonly ends: ReadonlyMap<string, bigint>
  /** The numbers of messages that the device forgot having written: from, and up to without. */
  readonly writtenFrom: number
  readonly writtenUntil: number
  /** Earlier ones that were being written: the copy may have them, or not. */
  readonly running: ReadonlySet<Written>
  /** The device renewed its key after the copy: it is DEVICE_ENDED, and starts anew as another device. */
  readonly isKeyReplaced: boolean
  /** When it returned. */
  readonly atMs: number
}

export interface Cast extends Stage {
  readonly random: Seeded
  /** The service tells the truth about conversations all the time. */
  readonly isHonest: boolean
  readonly users: PrincipalId[]
  readonly devices: SimulatedDevice[]
  /** The other tabs of devices. */
  readonly tabs: Map<SimulatedDevice, SimulatedDevice>
  readonly written: Written[]
  /** How often each device was asked for new keys. */
  readonly refreshes: Map<string, number>
  /** What the service lost when it was restored; undefined while it was not. */
  restored: Restored | undefined
  /** By name. */
  readonly rewound: Map<string, Rewound>
  /** One line for each thing that was done. */
  readonly trace: string[]
  /** What nobody should ever see thrown. */
  readonly bugs: string[]
}

/** True if the store of a device returned to an earlier copy then or later. */
export const hasForgotten = ({ rewound }: Pick<Cast, "rewound">, { name }: SimulatedDevice, sinceMs: number): boolean =>
  (rewound.get(name)?.atMs ?? Number.NEGATIVE_INFINITY) >= sinceMs

export function addDevice(cast: Cast, userId: PrincipalId): SimulatedDevice {
  const name = `d${cast.devices.length}`
  const device = createDevice(cast, name, userId, cast.service.signIn(userId), cast.random.fork(name))
  cast.devices.push(device)
  return device
}

/** Starts a process, and brings it up to date. */
export async function wake(cast: Cast, device: SimulatedDevice, endsAt?: number): Promise<void> {
  await attempt(cast, device, "start", async () => {
    const when = cast.random.chance(0.5) ? "before" : "after"
    await device.start(endsAt === undefined ? undefined : { at: endsAt, when })
    await device.messenger?.sync()
  })
}

type Doing = (cast: Cast, device: SimulatedDevice, messenger: Messenger) => Promise<void>

const weighted: readonly (readonly [number, Doing])[] = [
  [8, write],
  [3, (cast, device, messenger) => attempt(cast, device, "sync", () => messenger.sync())],
  [4, handOn],
  [2, (cast, device, messenger) => change(cast, device, "add", (id, user) => messenger.addMembers(id, [user]))],
  [2, (cast, device, messenger) => change(cast, device, "remove", (id, user) => messenger.removeMembers(id, [user]))],
  [2, (cast, device, messenger) => change(cast, device, "refresh", (id) => refresh(cast, device, messenger, id))],
  [0.3, (cast, device, messenger) => change(cast, device, "leave", (id) => messenger.leave(id))],
  [0.5, direct],
  [0.5, addDeviceOf],
  [0.3, revoke],
  [1, async (_, device) => device.stop()],
  [1, part],
]

/** One device does one thing; one that is not running is started. */
export const act = (cast: Cast): Promise<void> => actAs(cast, cast.random.pick(cast.devices))

/** The same for one device, or one tab of it. */
export function actAs(cast: Cast, device: SimulatedDevice): Promise<void> {
  const { random } = cast
  const { messenger } = device
  if (messenger === undefined) return wake(cast, device, random.chance(0.4) ? random.below(120) : undefined)
  let drawn = random.below(1_000) / 1_000
  const total = weighted.reduce((sum, [weight]) => sum + weight, 0)
  for (const [weight, doing] of weighted) {
    drawn -= weight / total
    if (drawn < 0) return doing(cast, device, messenger)
  }
  return Promise.resolve()
}

/** Does it. What a device may well be refused is noted; anything else is a bug. */
export async function attempt(
  cast: Cast,
  { label }: Pick<SimulatedDevice, "label">,
  what: string,
  work: () => Promise<unknown>,
) {
  try {
    await work()
    cast.trace.push(`${label} ${what}`)
  } catch (error) {
    const reason = reasonOf(error)
    cast.trace.push(`${label} ${what}: ${reason}`)
    if (!isKnown(error)) cast.bugs.push(`${what} throws ${reason}`)
  }
}

/** What failed in the background, as what failed in the foreground. */
export function failedIn(cast: Pick<Cast, "trace" | "bugs">): Stage["failed"] {
  return (name, error) => {
    cast.trace.push(`${name} failed: ${reasonOf(error)}`)
    if (!isKnown(error)) cast.bugs.push(`an event tells of ${reasonOf(error)}`)
  }
}

/** Whether it is a refusal of the messenger or the service, or what was planted. */
export function isKnown(error: unknown): boolean {
  if (error instanceof StoreFault) return true
  if (error instanceof Error && error.message === "the process has ended") return true
  if (isMessagingError(error)) return error.reason !== "STATE_TAMPERED" && error.reason !== "ENGINE_UNSAFE"
  if (isUnreachable(error)) return true
  const reason = failureOf(error)?.reason
  return reason !== undefined && reason !== "INTERNAL"
}

async function write(cast: Cast, device: SimulatedDevice, messenger: Messenger): Promise<void> {
  const conversationId = await conversationOf(cast, messenger)
  if (conversationId !== undefined) await writeIn(cast, device, conversationId, { isSent: cast.random.chance(0.8) })
}

/** @param isSent It is sent now, not just stored. */
export async function writeIn(
  cast: Cast,
  device: SimulatedDevice,
  conversationId: string,
  { isSent = true, isAfterAll = false },
): Promise<void> {
  const { messenger } = device
  if (messenger === undefined) return
  const text = `${cast.written.length} of ${device.name}`
  const from = { device: device.name, conversationId, isAfterAll }
  const one: Written = { text, ...from, outcome: "unknown", seq: undefined, isRunning: true }
  cast.written.push(one)
  const plaintext = new TextEncoder().encode(text)
  await attempt(cast, device, `write ${text}`, async () => {
    try {
      if (isSent) {
        const { state, seq } = await messenger.send(conversationId, plaintext)
        one.seq = seq
        one.outcome = state === "queued" ? "stored" : "sent"
      } else {
        cast.watching.left(device.name, (await messenger.encryptMessage(conversationId, plaintext)).message)
        one.outcome = "stored"
      }
    } catch (error) {
      if (isMessagingError(error, "QUEUED", "CONFLICT_EXHAUSTED")) one.outcome = "stored"
      else if (isMessagingError(error, "CONVERSATION_NOT_ACTIVE", "STATE_ROLLBACK")) one.outcome = "refused"
      throw error
    } finally {
      one.isRunning = false
    }
  })
}

async function conversationOf({ random }: Cast, messenger: Messenger): Promise<string | undefined> {
  const all = await messenger.conversations().catch(() => [])
  return all.length === 0 ? undefined : random.pick(all).id
}

async function change(
  cast: Cast,
  device: SimulatedDevice,
  what: string,
  work: (conversationId: string, userId: string) => Promise<void>,
): Promise<void> {
  const { messenger } = device
  const conversationId = messenger && (await conversationOf(cast, messenger))
  if (conversationId === undefined) return
  const user = cast.random.pick(cast.users)
  await attempt(cast, device, `${what} ${cast.users.indexOf(user)}`, () => work(conversationId, user))
}

/** Asks for new keys, and counts it. */
export function refresh(
  { refreshes }: Cast,
  { name }: SimulatedDevice,
  messenger: Messenger,
  id: string,
): Promise<void> {
  refreshes.set(name, (refreshes.get(name) ?? 0) + 1)
  return messenger.refreshKeys(id)
}

async function direct(cast: Cast, device: SimulatedDevice, messenger: Messenger): Promise<void> {
  const others = cast.users.filter((user) => user !== device.userId)
  const peer = cast.random.pick(others)
  await attempt(cast, device, `direct ${cast.users.indexOf(peer)}`, () => messenger.createDirectConversation(peer))
}

async function revoke(cast: Cast, device: SimulatedDevice, messenger: Messenger): Promise<void> {
  const other = cast.devices.find((one) => one.userId === device.userId && one !== device)
  const id = other?.messenger?.deviceId
  if (id === undefined) return
  await attempt(cast, device, `revoke ${other?.name}`, () => messenger.revokeDevice(id))
}

async function part({ network: { parted }, trace }: Cast, { name }: SimulatedDevice): Promise<void> {
  if (!parted.delete(name)) parted.add(name)
  trace.push(`${name} is ${parted.has(name) ? "parted" : "back"}`)
}

function addDeviceOf(cast: Cast, { userId }: SimulatedDevice): Promise<void> {
  const user = cast.users.find((one) => one === userId)
  return user === undefined ? Promise.resolve() : wake(cast, addDevice(cast, user))
}

/** Somebody hands an envelope of the log on to a device: in any order, again, and to those who are out. */
async function handOn(cast: Cast, device: SimulatedDevice, messenger: Messenger): Promise<void> {
  const all = [...cast.service.conversations.all.values()].filter(({ log }) => log.length > 0)
  if (all.length === 0) return
  const { conversation, log } = cast.random.pick(all)
  const kept = cast.random.pick(log)
  const envelope = create(EnvelopeSchema, envelopeShape(kept, kept.senderDeviceId))
  const { id: conversationId } = conversation
  await attempt(cast, device, `handed ${envelope.seq}`, () => messenger.processIncoming({ conversationId, envelope }))
}
