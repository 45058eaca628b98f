// A device's own messages: the log has each of them once. A service that repeats one learns nothing and stops nothing; an
// older copy of the store is still detected.
import { Code, ConnectError } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { TimelineEntry } from "../../clients/core/messaging/events.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { copyOf } from "../support/messaging/copied-store.ts"
import { type LyingTransport, lyingTransport } from "../support/messaging/lying-transport.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { movedClock } from "../support/messaging/moved-clock.ts"
import { describeStory } from "../support/postgres.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)

describeStory("an own message", (kind) => {
  let server: Deployment
  let messengers: Messengers
  let ben: OpenedMessenger
  const { clock, pass } = movedClock(() => server.inProcess)
  beforeAll(async () => {
    server = await startDeployment({ store: kind })
    messengers = messengersOn(server, { keyPackages: 4 })
    ben = await messengers.newcomer("ben", { clock })
  })
  afterAll(async () => {
    await messengers?.close()
    await server?.close()
  })

  async function newcomer(name: string): Promise<{ ann: OpenedMessenger; transport: LyingTransport }> {
    const transport = lyingTransport(messengers.transport)
    return { ann: await messengers.newcomer(name, { clock, transport }), transport }
  }

  /** The service accepts a message, and its answer is lost. */
  async function sendUnanswered({ messenger }: OpenedMessenger, transport: LyingTransport, id: string): Promise<void> {
    const answer = () => {
      throw new ConnectError("the answer is lost", Code.Unavailable)
    }
    transport.bend = { method: "AppendMessage", answer }
    await expect(messenger.send(id, utf8("unanswered"))).rejects.toMatchObject({ reason: "QUEUED" })
    transport.bend = undefined
  }

  /** The device after its revocation and a new sign-in, which replaces it. */
  async function startAnew(ann: OpenedMessenger, transport: LyingTransport): Promise<OpenedMessenger> {
    const other = await messengers.open(await ann.person.again(), { clock })
    await other.messenger.revokeDevice(ann.messenger.deviceId)
    await other.messenger.revokeDevice(other.messenger.deviceId)
    const next = await messengers.open(await ann.person.again(), { store: ann.store, box: ann.box, clock, transport })
    await next.messenger.startAnew()
    await next.messenger.sync()
    return next
  }

  describe("whose answer was lost is sent once", () => {
    test.runIf(isLong)("through a rejoin: it is shown at its position, between gaps", async () => {
      const { ann, transport } = await newcomer("ann, who rejoins")
      const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
      await ann.messenger.send(id, utf8("first"))
      await ben.messenger.sync()
      await ben.messenger.send(id, utf8("never read by ann"))
      await sendUnanswered(ann, transport, id)
      await ben.messenger.send(id, utf8("nor is this"))
      const shown: TimelineEntry[] = []
      ann.messenger.subscribe((event) => event.is === "entry" && shown.push(event.entry))
      // A device that cannot follow the log: nothing is read before the welcome.
      transport.lie = { of: id, log: [] }
      await ann.messenger.rejoin(id)
      await ben.messenger.sync()
      transport.lie = undefined
      await ann.messenger.sync()
      await ben.messenger.sync()
      const texts = ["first", "never read by ann", "unanswered", "nor is this"]
      expect(await textsIn(ben, id)).toEqual(texts)
      expect(await textsIn(ann, id)).toEqual(["first", "unanswered"])
      expect(shown.filter(({ is }) => is === "message")).toMatchObject([{ seq: 4n }])
      expect(await ann.messenger.outbox(id)).toEqual([])
      const gaps = (await ann.messenger.timeline(id)).filter(({ is }) => is === "gap")
      expect(gaps).toMatchObject([
        { seq: 4n, afterSeq: 2n },
        { seq: 7n, afterSeq: 4n },
      ])
    })

    test.runIf(isLong)("by a new device in the same store", async () => {
      const { ann, transport } = await newcomer("ann, who starts anew")
      const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
      await sendUnanswered(ann, transport, id)
      const anew = await startAnew(ann, transport)
      await ben.messenger.sync()
      await ben.messenger.addMembers(id, [ann.person.userId])
      await anew.messenger.sync()
      await anew.messenger.send(id, utf8("by the new one"))
      await ben.messenger.sync()
      expect(await textsIn(ben, id)).toEqual(["unanswered", "by the new one"])
      expect(await textsIn(anew, id)).toEqual(["unanswered", "by the new one"])
    })

    test.runIf(isLong)("through a reset of the conversation", async () => {
      const { ann, transport } = await newcomer("ann, who resets")
      const cam = await messengers.newcomer("cam", { clock })
      const { id } = await ann.messenger.createDirectConversation(cam.person.userId)
      await cam.messenger.sync()
      await sendUnanswered(ann, transport, id)
      await pass()
      const anew = await startAnew(ann, transport)
      for (const one of [anew, cam, anew, cam]) await one.messenger.sync()
      await anew.messenger.send(id, utf8("by the new one"))
      await cam.messenger.sync()
      expect((await cam.messenger.timeline(id)).some(({ is }) => is === "reset")).toBe(true)
      expect(await textsIn(cam, id)).toEqual(["unanswered", "by the new one"])
      expect(await textsIn(anew, id)).toEqual(["unanswered", "by the new one"])
    })
  })

  test.runIf(isLong)("that was not accepted before a rejoin is sent after it", async () => {
    const { ann, transport } = await newcomer("ann, whose call is lost")
    const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
    await ann.messenger.encryptMessage(id, utf8("stored"))
    transport.lie = { of: id, log: [] }
    await ann.messenger.rejoin(id)
    await ben.messenger.sync()
    transport.lie = undefined
    await ann.messenger.sync()
    await ben.messenger.sync()
    expect(await textsIn(ben, id)).toEqual(["stored"])
  })

  test.runIf(isLong).each(["", "PLACE_HELD", "RATE_LIMITED"])(
    "is not encrypted again after %s, because the service may have accepted it",
    async (reason) => {
      const { ann, transport } = await newcomer(`ann, who hears ${reason || "nothing"}`)
      const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
      await sendUnanswered(ann, transport, id)
      transport.lie = { of: id, log: [] }
      await ann.messenger.rejoin(id)
      await ben.messenger.sync()
      transport.lie = undefined
      const answer = () => {
        const details = reason === "" ? [] : [{ desc: ErrorInfoSchema, value: { domain: "signet", reason } }]
        throw new ConnectError("no answer again", Code.Unavailable, undefined, details)
      }
      transport.bend = { method: "AppendMessage", answer }
      await ann.messenger.sync()
      expect((await ann.messenger.conversation(id))?.status).toBe("waiting")
      transport.bend = undefined
      for (const one of [ann, ben]) await one.messenger.sync()
      expect(await textsIn(ben, id)).toEqual(["unanswered"])
    },
  )

  test.runIf(isLong)(
    "that the service names a read position for is refused: its entry would replace another one",
    async () => {
      const { ann, transport } = await newcomer("ann, who is deceived")
      const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
      await ann.messenger.send(id, utf8("first"))
      await sendUnanswered(ann, transport, id)
      transport.lie = { of: id, log: [] }
      await ann.messenger.rejoin(id)
      await ben.messenger.sync()
      transport.lie = undefined
      const failures: unknown[] = []
      ann.messenger.subscribe((event) => event.is === "failed" && failures.push(event.error))
      const answer = (truth: object) => void Object.assign(truth, { seq: 2n })
      transport.bend = { method: "AppendMessage", answer }
      await ann.messenger.sync()
      transport.bend = undefined
      expect(failures).toContainEqual(expect.objectContaining({ name: "MessagingError", reason: "ANSWER_REFUSED" }))
      for (const one of [ann, ben]) await one.messenger.sync()
      expect(await textsIn(ann, id)).toEqual(["first", "unanswered"])
      expect(await textsIn(ben, id)).toEqual(["first", "unanswered"])
    },
  )

  test.runIf(isLong)("that the service repeats at a new position is skipped", async () => {
    const { ann, transport } = await newcomer("ann, who hears herself")
    const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
    await ann.messenger.send(id, utf8("once"))
    await ann.messenger.send(id, utf8("twice"))
    const { envelopes } = await (await contextCalls(ann)).listMessages({ conversationId: id, afterSeq: 1n, limit: 10 })
    const before = await ann.messenger.timeline(id)
    const statuses: unknown[] = []
    ann.messenger.subscribe((event) => event.is === "status" && statuses.push(event.status))
    transport.lie = { of: id, log: envelopes.map((one) => ({ ...one, seq: one.seq + 2n })) }
    await ann.messenger.sync()
    expect(await ann.messenger.conversation(id)).toMatchObject({ status: "active", processedSeq: 5n })
    expect(await ann.messenger.timeline(id)).toEqual(before)
    expect(statuses).toEqual([])
  })

  test.runIf(isLong)(
    "that the service repeats while another one is queued is skipped: their generations differ",
    async () => {
      const { ann, transport } = await newcomer("ann, who has more to say")
      const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
      await ann.messenger.send(id, utf8("once"))
      const { envelopes } = await (await contextCalls(ann)).listMessages({
        conversationId: id,
        afterSeq: 1n,
        limit: 10,
      })
      await ann.messenger.encryptMessage(id, utf8("waits"))
      const statuses: unknown[] = []
      ann.messenger.subscribe((event) => event.is === "status" && statuses.push(event.status))
      transport.lie = { of: id, log: envelopes.map((one) => ({ ...one, seq: one.seq + 1n })) }
      await ann.messenger.sync()
      expect(statuses).toEqual([])
      expect((await ann.messenger.timeline(id)).map(({ is }) => is)).not.toContain("unreadable")
    },
  )

  test.runIf(isLong).each(["message", "commit"])(
    "of an ended epoch that the service repeats at a new position is skipped: a %s",
    async (what) => {
      const { ann, transport } = await newcomer(`ann, whose ${what} is repeated`)
      const { id } = await ann.messenger.createDirectConversation(ben.person.userId)
      await ben.messenger.sync()
      await ann.messenger.send(id, utf8("once"))
      await ann.messenger.refreshKeys(id)
      const calls = await contextCalls(ann)
      const { envelopes } = await calls.listMessages({ conversationId: id, afterSeq: 1n, limit: 10 })
      expect(envelopes.map(({ seq, epoch }) => [seq, epoch])).toEqual([
        [2n, 1n],
        [3n, 1n],
      ])
      const before = await ann.messenger.timeline(id)
      const statuses: unknown[] = []
      ann.messenger.subscribe((event) => event.is === "status" && statuses.push(event.status))
      const again = envelopes.slice(...(what === "message" ? [0, 1] : [1, 2]))
      transport.lie = { of: id, log: again.map((one) => ({ ...one, seq: 4n })) }
      await ann.messenger.sync()
      expect(await ann.messenger.conversation(id)).toMatchObject({ status: "active", processedSeq: 4n })
      expect(await ann.messenger.timeline(id)).toEqual(before)
      expect([statuses, transport.reports]).toEqual([[], []])
    },
  )

  test.runIf(isLong)(
    "of a copy of the store is detected, also after the copy has encrypted with the same keys",
    async () => {
      const { ann } = await newcomer("ann with a copy")
      const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
      await ann.messenger.send(id, utf8("before the copy"))
      const store = await copyOf(ann.store)
      await ann.messenger.send(id, utf8("after the copy"))
      const copy = await messengers.open(ann.person, { store, box: ann.box, clock })
      // Offline: the copy has not read the log.
      await copy.messenger.encryptMessage(id, utf8("of the copy"))
      await copy.messenger.sync()
      expect((await copy.messenger.conversation(id))?.status).not.toBe("active")
      for (const one of [ben, copy, ben, copy, ben]) await one.messenger.sync()
      expect(await textsIn(ben, id)).toEqual(["before the copy", "after the copy", "of the copy"])
      const unreadable = (await ben.messenger.timeline(id)).filter(({ is }) => is === "unreadable")
      expect(unreadable).toEqual([])
    },
  )

  async function contextCalls({ person, store, box }: OpenedMessenger) {
    const { context } = await openContext(...messengers.optionsFor(person, { store, box, clock }))
    return context.calls.conversations
  }
})
