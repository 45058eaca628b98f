// Who takes part in the messaging bench, and calls that cost the caller as little as can be.

import type { Transport } from "@connectrpc/connect"
import { hash } from "@signet/canonical/hash"
import { encodeMlsMessage } from "ts-mls/message.js"
import { acceptCommit } from "../../../clients/core/messaging/mls.ts"
import { bent, theirs } from "../../../server/framing/testing/bent.ts"
import type { Append } from "../../support/messaging/committing.ts"
import { newDevice, type TestDevice } from "../../support/messaging/device.ts"
import { randomBytes } from "../../support/messaging/device-parts.ts"
import type { Room } from "../../support/messaging/room.ts"
import type { World } from "../../support/messaging/world.ts"

/** Somebody with a device, and so many key packages. */
export async function newcomer(world: World, transport: Transport, keyPackages = 0): Promise<TestDevice> {
  const device = await newDevice(transport, await world.newUser())
  await device.register()
  for (let left = keyPackages; left > 0; left -= 100) await device.upload(Math.min(left, 100))
  return device
}

/** So many at a time: a server that is about to be measured is not to be drowned. */
export async function inBatches<T>(count: number, make: (i: number) => Promise<T>, at = 8): Promise<T[]> {
  const made: T[] = []
  while (made.length < count) {
    const batch = Array.from({ length: Math.min(at, count - made.length) }, (_, i) => make(made.length + i))
    made.push(...(await Promise.all(batch)))
  }
  return made
}

/**
 * Appends messages to a room. What is sealed in them is random: the service cannot tell, and sealing is not what is
 * measured.
 */
export async function appender(device: TestDevice, room: Room): Promise<() => Promise<unknown>> {
  const like = await device.stageText(room, "as long as most messages are")
  if (like.payload.case !== "application") throw new Error("a message")
  const { privateMessage } = theirs(like.payload.value, "mls_private_message")
  return () => {
    const ciphertext = randomBytes(privateMessage.ciphertext.length)
    const value = encodeMlsMessage({
      version: "mls10",
      wireformat: "mls_private_message",
      privateMessage: bent(privateMessage, () => ({ ciphertext })),
    })
    const append: Append = {
      ...like,
      idempotencyKey: randomBytes(16),
      expectedEpoch: room.epoch,
      payload: { case: "application", value },
    }
    return device.append(append)
  }
}

/** Commits to a room that nobody else commits to: without reading it back. */
export async function commitTo(device: TestDevice, room: Room): Promise<void> {
  const staged = await device.stageUpdate(room)
  const { receipt, acceptedAt } = await device.append(staged)
  room.state = acceptCommit(room.state, staged.staged)
  room.epoch += 1n
  room.staged = []
  room.receipt = { hash: hash("commit-receipt", receipt), acceptedAtMs: (acceptedAt?.seconds ?? 0n) * 1_000n }
}
