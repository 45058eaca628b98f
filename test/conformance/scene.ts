// What a case uses: one server, one protocol, its own people, and assertions.
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
  /** A registered device with key packages: of a new person, or of another session of `of`. */
  device(options?: { of?: TestDevice; keyPackages?: number }): Promise<TestDevice>
  /** A device that is not registered. */
  unregistered(session?: SignedIn): Promise<TestDevice>
  /** Two people with one device each. */
  pair(): Promise<[TestDevice, TestDevice]>
  trio(): Promise<[TestDevice, TestDevice, TestDevice]>
  /** A group of all these devices, created by the first. */
  group(...devices: TestDevice[]): Promise<Room>
}

export type Run = (scene: Scene) => Promise<void>

export interface Options {
  /** True if the case needs a stream, which REST does not have. */
  readonly streams?: boolean
  /** True if the case takes a second or more: the short form leaves it out. */
  readonly slow?: boolean
}

export interface Case extends Options {
  readonly subject: string
  readonly sentence: string
  readonly run: Run
}

/** The cases of a subject: each a sentence and its check. */
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

/** The refusal of a call. */
export interface Refusal {
  readonly reason: string
  /** The reason's detail code, if it has one. */
  readonly code: string
  readonly error: ConnectError
}

/** The refusal of the call. @throws AssertionError if it succeeds. */
export async function refusal(call: Promise<unknown>): Promise<Refusal> {
  const error = await call.then(
    () => assert.fail("the call was not refused"),
    (fault: unknown) => ConnectError.from(fault),
  )
  const info = error.findDetails(ErrorInfoSchema)[0]
  if (info === undefined) throw new Error(`no reason: ${Code[error.code]} ${error.rawMessage}`, { cause: error })
  return { reason: info.reason, code: info.metadata.code ?? "", error }
}

/** Asserts the reason, and after a space its detail code: "PROOF_REFUSED PROOF_MISSING". */
export async function refuses(expected: string, call: Promise<unknown>): Promise<Refusal> {
  const refused = await refusal(call)
  const told = expected.includes(" ") ? `${refused.reason} ${refused.code}` : refused.reason
  assert.equal(told, expected)
  return refused
}

/** The value. @throws AssertionError if it is missing. */
export function there<T>(value: T | undefined | null, what = "it"): T {
  assert(value !== undefined && value !== null, `${what} is not there`)
  return value
}

/**
 * Reads every 50 ms until the answer has what the case waits for.
 *
 * @throws AssertionError after thirty seconds. That is long because other work may use the machine.
 */
export async function eventually<Answer>(
  read: () => Promise<Answer>,
  holds: (answer: Answer) => boolean,
): Promise<Answer> {
  const endMs = performance.now() + 30_000
  for (;;) {
    const answer = await read()
    if (holds(answer)) return answer
    assert(performance.now() < endMs, `not within thirty seconds: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** A copy with one flipped bit. */
export function flipped(bytes: Uint8Array, at = bytes.length - 1): Uint8Array {
  const copy = Uint8Array.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ 1
  return copy
}
