// One of the two servers, and everybody on it: who they are is drawn by chance that both servers share.
import { ConnectError, type Transport } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"
import type { Authorization } from "@signet/proto/messaging/v1/records"
import { http1, protocols } from "../conformance/protocols.ts"
import type { Served } from "../conformance/serve.ts"
import type { Seeded } from "../simulation/seeded.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import type { Room } from "../support/messaging/room.ts"
import { developmentWorld, type SignedIn, type World } from "../support/messaging/world.ts"
import { createSeer, type Seen, type Seer } from "./seen.ts"

export interface Somebody {
  readonly session: SignedIn
  readonly devices: TestDevice[]
}

/** A call that can be made again as it was. */
export type Again = () => Promise<unknown>

export interface Side {
  readonly name: string
  readonly world: World
  readonly seer: Seer
  readonly people: Somebody[]
  /** All of them but those that were revoked. */
  readonly devices: TestDevice[]
  /** Ids of conversations, in the order in which they came to be. */
  readonly conversations: string[]
  readonly attachments: { readonly id: string; readonly by: TestDevice; readonly bytes: Uint8Array }[]
  /** Calls to repeat, with what they are: the newest last, and not many. */
  readonly again: { readonly what: string; readonly call: Again; readonly by: TestDevice }[]
  /** Uploads of key packages so far. */
  uploads: number
  /** A way to the server by the protocol that the number stands for. */
  readonly transport: (protocol: number) => Transport
  /** One that has streams. */
  readonly streaming: Transport
}

/** Protocols that every server has at its own address. */
const open: readonly ((baseUrl: string) => Transport)[] = ["Connect JSON", "gRPC-Web", "REST"].flatMap(
  (name) => protocols[name] ?? [],
)

const binary = (baseUrl: string) =>
  createConnectTransport({ baseUrl, ...http1, useBinaryFormat: true, useHttpGet: true })

export function createSide(name: string, served: Served): Side {
  const { url } = served
  const transports = [...open, binary].map((make) => make(url))
  const streaming = binary(url)
  return {
    name,
    world: developmentWorld(url, served),
    seer: createSeer(),
    people: [],
    devices: [],
    conversations: [],
    attachments: [],
    again: [],
    uploads: 0,
    transport: (protocol) => transports[protocol % transports.length] ?? streaming,
    streaming,
  }
}

/** One step on one server. */
export interface Act {
  readonly side: Side
  readonly rng: Seeded
  /** Makes a call and writes down what it gave. @returns undefined when it was refused. */
  see<T>(what: string, call: () => Promise<T>): Promise<T | undefined>
  /** Writes down only whether it was refused: of a turned bit it is chance what it breaks. */
  seeIf<T>(what: string, call: () => Promise<T>): Promise<T | undefined>
  /** The same for calls at once, of which nobody knows who comes first. @returns Those that were taken. */
  seeAll<T>(what: string, calls: readonly (() => Promise<T>)[]): Promise<T[]>
  /** Writes something down. */
  write(what: string, seen: Seen): void
}

export type Step = (act: Act) => Promise<void>

export interface Line {
  readonly what: string
  readonly seen: Seen
}

/** What was written down in a step, and what went wrong in the script itself. */
export interface Notes {
  readonly lines: Line[]
  readonly faults: unknown[]
}

export function actOn(side: Side, rng: Seeded, { lines, faults }: Notes): Act {
  const { seer } = side
  const outcome = async <T>(call: () => Promise<T>): Promise<{ seen: () => Seen; value?: T }> => {
    try {
      const value = await call()
      return { seen: () => seer.value(value), value }
    } catch (error) {
      // A test device that finds its server out is a fault on either side, even on both.
      if (!(error instanceof ConnectError)) faults.push(error)
      return { seen: () => (error instanceof ConnectError ? seer.error(error) : `fault: ${String(error)}`) }
    }
  }
  return {
    side,
    rng,
    async see(what, call) {
      const { seen, value } = await outcome(call)
      lines.push({ what, seen: seen() })
      return value
    },
    async seeIf(what, call) {
      const { seen, value } = await outcome(call)
      lines.push({ what, seen: value !== undefined ? "taken" : seer.looked(() => refusal(seen())) })
      return value
    },
    async seeAll(what, calls) {
      const outcomes = await Promise.all(calls.map(outcome))
      // Without names: those depend on who came first.
      const all = outcomes.map(({ seen }) => seer.looked(() => alike(seen())))
      lines.push({ what, seen: all.toSorted() })
      return outcomes.flatMap(({ value }) => (value === undefined ? [] : [value]))
    },
    write: (what, seen) => void lines.push({ what, seen }),
  }
}

/** Refused, or a fault of the service. */
const refusal = (seen: Seen): Seen =>
  typeof seen === "object" && seen !== null && "code" in seen && seen.code === "Internal" ? seen : "refused"

/** What does not depend on who came first. REST tells no Denial, and which call goes over what is drawn by chance. */
function alike(seen: Seen): string {
  const left = new Set(["body", "headSeq", "seq", "winningSeq", "Denial", "count"])
  return JSON.stringify(seen, (name, value) => {
    if (left.has(name)) return undefined
    if (typeof value === "object" && value !== null && "~s" in value) return "time"
    return typeof value === "string" ? value.replace(/[#?]\d*/g, "#") : value
  })
}

export async function joined(side: Side, somebody: Somebody, protocol: number): Promise<TestDevice> {
  const session = somebody.devices.length === 0 ? somebody.session : await somebody.session.again()
  const device = await newDevice(side.transport(protocol), session)
  return device
}

/** Devices that have the room and are in it, as far as they know. */
export const membersOf = (side: Side, id: string): { device: TestDevice; room: Room }[] =>
  side.devices.flatMap((device) => {
    const room = device.rooms.get(id)
    return room?.isMember ? [{ device, room }] : []
  })

/** Any device of anybody, and a room of it that it is in. */
export function anyRoom({ side, rng }: Act): { device: TestDevice; room: Room } | undefined {
  const all = side.conversations.flatMap((id) => membersOf(side, id))
  return all.length === 0 ? undefined : rng.pick(all)
}

const namedPackages = new WeakSet<object>()

/** Key packages of one upload are alike: which of them is claimed first, nobody is promised. */
export function namePackages({ seer }: Side, { packages }: TestDevice): void {
  const fresh = [...packages.values()].filter((one) => !namedPackages.has(one))
  for (const one of fresh) namedPackages.add(one)
  if (fresh.length > 0)
    seer.nameAll(
      "kpr",
      fresh.flatMap(({ reference, keyPackage }) => [reference, keyPackage]),
    )
}

/** The authorization, with those to add in the order in which they came to be: leaves are given in that order. */
export function inOrder({ devices }: Side, authorization: Authorization): Authorization {
  const { claim } = authorization
  if (claim === undefined) return authorization
  const placeOf = ({ deviceId }: { deviceId: string }) => devices.findIndex(({ id }) => id === deviceId)
  const keyPackages = claim.keyPackages.toSorted((a, b) => placeOf(a) - placeOf(b))
  return { ...authorization, claim: { ...claim, keyPackages } }
}
