// What a case has to act with: one server, one protocol, people that nobody else has, and what it asserts with.
import assert from "node:assert/strict"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { callsOver, type MessagingCalls } from "../support/messaging/calls.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import type { Room } from "../support/messaging/room.ts"
import type { SignedIn, World } from "../support/messaging/world.ts"

export interface Scene {
  readonly world: World
  readonly transport: Transport
  /** The name of the protocol that the case runs over. */
  readonly protocol: string
  /** Calls without a credential. */
  readonly anonymous: MessagingCalls
  /** A device of a new person's, or of another session of somebody: registered, with key packages. */
  device(options?: { of?: TestDevice; keyPackages?: number }): Promise<TestDevice>
  /** A device that is not registered. */
  unregistered(session?: SignedIn): Promise<TestDevice>
  /** Two people, a device each. */
  pair(): Promise<[TestDevice, TestDevice]>
  trio(): Promise<[TestDevice, TestDevice, TestDevice]>
  /** A group that all of them are in, made by the first. */
  group(...devices: TestDevice[]): Promise<Room>
}

export type Run = (scene: Scene) => Promise<void>

export interface Options {
  /** Needs a stream, which REST has none of. */
  readonly streams?: boolean
  /** Takes a second or more: not in the shortest runs. */
  readonly slow?: boolean
}

export interface Case extends Options {
  readonly subject: string
  readonly sentence: string
  readonly run: Run
}

/** The cases of a subject: what holds, as a sentence, and how to see it. */
export function cases(subject: string, table: Record<string, Run>, options: Options = {}): readonly Case[] {
  return Object.entries(table).map(([sentence, run]) => ({ subject, sentence, run, ...options }))
}

export function sceneOf(world: World, protocol: string, transport: Transport): Scene {
  const unregistered = async (session?: SignedIn) => newDevice(transport, session ?? (await world.newUser()))
  const device: Scene["device"] = async ({ of, keyPackages = 3 } = {}) => {
    const made = await unregistered(await of?.session.again())
    await made.register()
    if (keyPackages > 0) await made.upload(keyPackages)
    return made
  }
  return {
    world,
    protocol,
    transport,
    anonymous: callsOver(transport, { token: undefined, device: undefined }),
    unregistered,
    device,
    pair: () => Promise.all([device(), device()]),
    trio: () => Promise.all([device(), device(), device()]),
    async group(...devices) {
      const [first, ...others] = devices
      assert(first)
      const room = await first.createGroup(others.map(({ userId }) => userId))
      for (const other of others) await other.join()
      return room
    },
  }
}

/** How a call was refused. */
export interface Refusal {
  readonly reason: string
  /** The canonical code or the like, where the reason has one. */
  readonly code: string
  readonly error: ConnectError
}

/** How the call is refused. @throws AssertionError when it is not. */
export async function refusal(call: Promise<unknown>): Promise<Refusal> {
  const error = await call.then(
    () => assert.fail("the call was not refused"),
    (fault: unknown) => ConnectError.from(fault),
  )
  const info = error.findDetails(ErrorInfoSchema)[0]
  if (info === undefined) throw new Error(`no reason: ${Code[error.code]} ${error.rawMessage}`, { cause: error })
  return { reason: info.reason, code: info.metadata.code ?? "", error }
}

/** Asserts the reason, and after a space the code that goes with it: "PROOF_REFUSED PROOF_MISSING". */
export async function refuses(expected: string, call: Promise<unknown>): Promise<Refusal> {
  const refused = await refusal(call)
  const told = expected.includes(" ") ? `${refused.reason} ${refused.code}` : refused.reason
  assert.equal(told, expected)
  return refused
}

/** What is there, or the case fails. */
export function there<T>(value: T | undefined | null, what = "it"): T {
  assert(value !== undefined && value !== null, `${what} is not there`)
  return value
}

/** A copy with one bit turned. */
export function flipped(bytes: Uint8Array, at = bytes.length - 1): Uint8Array {
  const copy = Uint8Array.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ 1
  return copy
}
