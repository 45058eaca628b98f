// Devices that write continuously to one conversation and record acknowledged writes, with the invariants that the log
// must then satisfy.
import assert from "node:assert/strict"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import type { Append } from "./committing.ts"
import { newDevice, type TestDevice } from "./device.ts"
import { hexOf } from "./device-parts.ts"
import type { Room } from "./room.ts"
import type { World } from "./world.ts"

export interface Writer {
  readonly device: TestDevice
  readonly room: Room
  /** Hexadecimal bytes of every acknowledged message, by sequence number. */
  readonly acknowledged: Map<bigint, string>
  /** Sent but not answered. */
  pending: Append | undefined
}

const bytesIn = ({ payload }: Append): Uint8Array =>
  payload.case === "application" ? payload.value : payload.value.commit

/** Creates this many users in one group. */
export async function writersIn(world: World, transport: Transport, count: number): Promise<Writer[]> {
  const devices: TestDevice[] = []
  for (let i = 0; i < count; i++) {
    const device = await newDevice(transport, await world.newUser())
    await device.register()
    await device.upload(2)
    devices.push(device)
  }
  const [first, ...others] = devices
  assert(first)
  const { id } = await first.createGroup(others.map(({ userId }) => userId))
  for (const other of others) await other.join()
  return devices.map((device) => ({ device, room: device.room(id), acknowledged: new Map(), pending: undefined }))
}

/** Sends the pending request or a new one: a commit or a message. */
export async function writeOnce(writer: Writer, isCommit: boolean): Promise<void> {
  const { device, room } = writer
  writer.pending ??= isCommit ? (await device.stageUpdate(room)).request : await device.stageText(room, "something")
  try {
    const { seq } = await device.append(writer.pending)
    writer.acknowledged.set(seq, hexOf(bytesIn(writer.pending)))
  } catch (error) {
    if (!isOvertaken(error)) throw error
    await device.sync(room)
  }
  writer.pending = undefined
}

/** Another commit came first: the message was refused and is created again. */
const isOvertaken = (error: unknown): boolean =>
  ["STALE_EPOCH", "COMMIT_CONFLICT"].includes(ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.reason ?? "")

/** True for errors of a server that stopped or lost its database. */
export const isGone = (error: unknown): boolean => {
  const { code } = ConnectError.from(error)
  return [Code.Unavailable, Code.Aborted, Code.Internal, Code.Unknown, Code.Canceled].includes(code)
}

/**
 * Checks the log: every acknowledged write is at its position, none is repeated, and there is no gap. All devices can
 * process it.
 */
export async function expectWhole(writers: readonly Writer[]): Promise<void> {
  const [reader] = writers
  assert(reader)
  const log: Envelope[] = []
  for (;;) {
    const page = { conversationId: reader.room.id, afterSeq: BigInt(log.length), limit: 200 }
    const { envelopes, headSeq } = await reader.device.calls.conversations.listMessages(page)
    log.push(...envelopes)
    if (envelopes.length === 0 || BigInt(log.length) >= headSeq) break
  }
  assert.deepEqual(
    log.map(({ seq }) => seq),
    log.map((_, i) => BigInt(i + 1)),
  )
  const contents = log.map(({ message }) => hexOf(message))
  assert.equal(new Set(contents).size, contents.length, "a message is there twice")
  for (const { acknowledged } of writers) {
    for (const [seq, content] of acknowledged) assert.equal(contents[Number(seq) - 1], content, `place ${seq}`)
  }
  const states = new Set<string>()
  for (const { device, room } of writers) {
    await device.sync(room)
    states.add(`${room.epoch} ${room.seq}`)
  }
  assert.equal(states.size, 1, [...states].join())
}

/** All devices write until the server stops. @param onAnswer Called for each answer. */
export async function untilGone(writers: readonly Writer[], onAnswer: () => void): Promise<void> {
  await Promise.all(
    writers.map(async (writer) => {
      try {
        for (let i = 0; ; i++) {
          await writeOnce(writer, i % 8 === 7)
          onAnswer()
        }
      } catch (error) {
        if (!isGone(error)) throw error
      }
    }),
  )
}

/** Tokens survive a restart but may expire. Renews them and retries unanswered requests with their keys. */
export async function comeBack(writers: readonly Writer[]): Promise<void> {
  for (const writer of writers) {
    const { device } = writer
    device.credentials.token = await device.session.refresh()
    if (writer.pending !== undefined) await writeOnce(writer, false)
    await device.sync(writer.room)
  }
  await expectWhole(writers)
}
