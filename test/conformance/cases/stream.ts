import assert from "node:assert/strict"
import type { SubscribeResponse } from "@signet/proto/messaging/v1/conversation_service"
import { DirectiveKind } from "@signet/proto/messaging/v1/records"
import type { TestDevice } from "../../support/messaging/device.ts"
import { hexOf } from "../../support/messaging/device-parts.ts"
import * as scene from "../scene.ts"
import { refusal, there } from "../scene.ts"
import { shown, stranded } from "./resets.ts"

type Event = SubscribeResponse["event"]

interface Listening {
  /** The next matching event; earlier ones are skipped. */
  until<C extends Event["case"]>(
    name: C,
    fits?: (event: Extract<Event, { case: C }>) => boolean,
  ): Promise<Extract<Event, { case: C }>>
  /** The reason of the stream's end. */
  ended(): Promise<string>
  close(): Promise<void>
}

function listen(device: TestDevice, includeEnvelopes = false): Listening {
  const controller = new AbortController()
  const stream = device.calls.conversations.subscribe({ includeEnvelopes }, { signal: controller.signal })
  const events = stream[Symbol.asyncIterator]()
  const isOf = <C extends Event["case"]>(event: Event, name: C): event is Extract<Event, { case: C }> =>
    event.case === name
  const late = () =>
    new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error("nothing came in thirty seconds")), 30_000).unref()
    })
  return {
    async until(name, fits = () => true) {
      const timeout = late()
      timeout.catch(() => {})
      for (;;) {
        const next = await Promise.race([events.next(), timeout])
        if (next.done) throw new Error("the stream has ended")
        const { event } = next.value
        if (isOf(event, name) && fits(event)) return event
      }
    },
    async ended() {
      const drain = async () => {
        for (;;) if ((await events.next()).done) return
      }
      return (await refusal(Promise.race([drain(), late()]))).reason
    },
    async close() {
      controller.abort()
      await events.next().catch(() => undefined)
    },
  }
}

/** Runs the test on a stream, which is open once its first event has arrived, and closes it. */
async function listening(device: TestDevice, act: (stream: Listening) => Promise<void>, includeEnvelopes = false) {
  const stream = listen(device, includeEnvelopes)
  try {
    await act(stream)
  } finally {
    await stream.close()
  }
}

export const cases = scene.cases(
  "stream",
  {
    async "reports a change of the blocked users to the other devices of the user, and to nobody else"({
      device,
      pair,
    }) {
      const [one, other] = await pair()
      const second = await device({ of: one, keyPackages: 0 })
      await one.calls.blocks.blockUser({ userId: other.userId })
      await listening(second, async (own) => {
        await listening(other, async (theirs) => {
          // The stream starts with the version that it may have missed.
          assert.equal((await own.until("blockListChanged")).value.version, 1n)
          await theirs.until("keyPackageLow")
          await one.calls.blocks.unblockUser({ userId: other.userId })
          // A hint may be repeated.
          await own.until("blockListChanged", ({ value }) => value.version === 2n)
          // The first hint for the other user is about the own list.
          await other.calls.blocks.blockUser({ userId: one.userId })
          assert.equal((await theirs.until("blockListChanged")).value.version, 1n)
        })
      })
    },
    async "starts with the conversations that have news for the device"({ pair, group }) {
      const [one, two] = await pair()
      const room = await group(one, two)
      await one.send(room, "hello")
      await listening(two, async (stream) => {
        const { value } = await stream.until("envelopeAvailable")
        assert.deepEqual([value.conversationId, value.headSeq], [room.id, 2n])
      })
    },
    async "a stream of the resetting device reports others' messages in the new group"(acting) {
      const { one, two, room } = await stranded(acting)
      const fresh = await acting.device({ of: one, keyPackages: 0 })
      await listening(fresh, async (stream) => {
        await stream.until("keyPackageLow")
        await fresh.append(await fresh.stageReset(await shown(fresh, room), await fresh.authorizeReset(room.id)))
        const [joined] = await two.join()
        const { seq } = await two.send(there(joined), "hello")
        await stream.until(
          "envelopeAvailable",
          ({ value }) => value.conversationId === room.id && value.headSeq === seq,
        )
      })
    },
    async "starts with the waiting welcomes, and with a low number of key packages"({ pair }) {
      const [one, two] = await pair()
      const room = await one.createDirect(two.userId)
      await listening(two, async (stream) => {
        const { value } = await stream.until("welcomeAvailable")
        assert.equal(value.conversationId, room.id)
      })
      await listening(two, async (stream) => {
        const { value } = await stream.until("keyPackageLow")
        assert.equal(value.inventory?.available, 2)
      })
    },
    async "sends a hint for each message, with the envelope if it is small"({ pair, group }) {
      const [one, two] = await pair()
      const room = await group(one, two)
      await listening(
        two,
        async (stream) => {
          await stream.until("envelopeAvailable")
          const said = await one.stageText(room, "right away")
          const { seq } = await one.append(said)
          const { value } = await stream.until("envelopeAvailable", (event) => event.value.headSeq >= seq)
          assert.equal(value.conversationId, room.id)
          const last = there(value.envelopes.at(-1), "the envelope")
          assert.equal(last.seq, seq)
          if (said.payload.case === "application") assert.equal(hexOf(last.message), hexOf(said.payload.value))
        },
        true,
      )
    },
    async "contains no envelopes unless requested"({ pair, group }) {
      const [one, two] = await pair()
      const room = await group(one, two)
      await listening(two, async (stream) => {
        await stream.until("envelopeAvailable")
        const { seq } = await one.send(room, "hello")
        const { value } = await stream.until("envelopeAvailable", (event) => event.value.headSeq >= seq)
        assert.equal(value.envelopes.length, 0)
      })
    },
    async "sends a hint for a welcome, and then for its conversation"({ trio, group }) {
      const [one, two, three] = await trio()
      const room = await group(one, two)
      await listening(three, async (stream) => {
        await stream.until("keyPackageLow")
        await one.add(room, { userIds: [three.userId] })
        const { value } = await stream.until("welcomeAvailable")
        assert.equal(value.conversationId, room.id)
        assert.equal((await three.welcomes())[0]?.id, value.welcomeId)
        await three.join()
        const { seq } = await one.send(room, "hello")
        await stream.until("envelopeAvailable", (event) => event.value.headSeq >= seq)
      })
    },
    async "sends a hint for a directive, and for a user's new device list"({ pair, group, device }) {
      const [one, two] = await pair()
      const second = await device({ of: two })
      await group(one, two)
      await second.join()
      await listening(one, async (stream) => {
        await stream.until("keyPackageLow")
        await two.calls.devices.revokeDevice({ deviceId: second.id })
        const issued = await stream.until("directiveIssued")
        assert.equal(issued.value.directive?.kind, DirectiveKind.REVOCATION)
      })
      await listening(one, async (stream) => {
        await stream.until("keyPackageLow")
        await device({ of: two, keyPackages: 0 })
        const { value } = await stream.until("deviceListChanged", (event) => event.value.listVersion >= 4n)
        assert.equal(value.userId, two.userId)
      })
    },
    async "a fifth stream of a device is refused"({ device }) {
      const one = await device()
      const streams = Array.from({ length: 4 }, () => listen(one))
      for (const stream of streams) await stream.until("keyPackageLow")
      const fifth = listen(one)
      assert.equal(await fifth.ended(), "LIMIT_EXCEEDED")
      for (const stream of streams) await stream.close()
    },
    async "ends when its device is revoked"({ device }) {
      const one = await device()
      const second = await device({ of: one })
      const stream = listen(second)
      await stream.until("keyPackageLow")
      await one.calls.devices.revokeDevice({ deviceId: second.id })
      assert(["DEVICE_REVOKED", "SESSION_REVOKED"].includes(await stream.ended()))
    },
    async "requires a device"({ unregistered }) {
      const one = await unregistered()
      assert.equal(await listen(one).ended(), "DEVICE_REQUIRED")
      one.credentials.token = undefined
      assert.equal(await listen(one).ended(), "NO_CREDENTIAL")
    },
  },
  { streams: true },
)
