// A user leaves with one device. Each message of the user's other device, and of the leaving one, is delivered before the
// leave or reported as unsent.
import { create } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { type Conversation, Directive_Status, DirectiveKind, DirectiveSchema } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { MessengerEvent } from "../../clients/core/messaging/events.ts"
import { startEdgeServer } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { type LyingTransport, lyingTransport } from "../support/messaging/lying-transport.ts"
import {
  type Messengers,
  messengersOn,
  type OpenedMessenger,
  type Serving,
  textsIn,
} from "../support/messaging/messengers.ts"
import { startMessagingServer } from "../support/messaging/test-server.ts"
import { describeStory, storyStore } from "../support/postgres.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)

describeStory("a user who leaves with one device", (kind) => story(() => startMessagingServer({ store: kind })))
describe.runIf(isLong)("a user who leaves with one device (the edge)", () =>
  story(() => startEdgeServer({ store: storyStore })),
)

function story(start: () => Promise<Serving & { close(): Promise<unknown> }>): void {
  let server: Awaited<ReturnType<typeof start>>
  let messengers: Messengers
  let ben: OpenedMessenger
  beforeAll(async () => {
    server = await start()
    messengers = messengersOn(server, { keyPackages: 4 })
    ben = await messengers.newcomer("ben")
  })
  afterAll(async () => {
    await messengers?.close()
    await server?.close()
  })

  interface Scene {
    readonly phone: OpenedMessenger
    readonly laptop: OpenedMessenger
    readonly transport: LyingTransport
    readonly id: string
    /** The events of the laptop about its own messages: delivered or unsent. */
    readonly fates: string[]
  }

  /** A group with ben and two devices of one user. The laptop has sent a message. */
  async function scene(name: string): Promise<Scene> {
    const transport = lyingTransport(messengers.transport)
    const phone = await messengers.newcomer(name)
    const laptop = await messengers.open(await phone.person.again(), { transport })
    await laptop.messenger.sync()
    const { id } = await phone.messenger.createGroupConversation([ben.person.userId])
    await laptop.messenger.sync()
    await laptop.messenger.send(id, utf8("before"))
    const fates: string[] = []
    laptop.messenger.subscribe((event) => fates.push(...fateOf(event)))
    return { phone, laptop, transport, id, fates }
  }

  const fateOf = (event: MessengerEvent): string[] => {
    if (event.is === "unsent") return ["unsent"]
    const isOwn = event.is === "entry" && event.entry.is === "message" && event.entry.outboxId !== undefined
    return isOwn ? ["delivered"] : []
  }

  const statusIn = async ({ laptop, id }: Scene) => (await laptop.messenger.conversation(id))?.status

  test.runIf(isLong)("rejects a message on the other device at once, and reports it as unsent", async () => {
    const all = await scene("ann, who writes on")
    const { phone, laptop, id, fates } = all
    await phone.messenger.leave(id)
    await expect(laptop.messenger.send(id, utf8("too late"))).rejects.toMatchObject({
      reason: "CONVERSATION_NOT_ACTIVE",
    })
    expect(fates).toEqual(["unsent"])
    expect(await laptop.messenger.outbox(id)).toEqual([])
    expect(await statusIn(all)).toBe("leaving")
    await expect(laptop.messenger.send(id, utf8("later"))).rejects.toMatchObject({ reason: "CONVERSATION_NOT_ACTIVE" })
    expect(fates).toEqual(["unsent"])
    for (const one of [ben, laptop, ben]) await one.messenger.sync()
    expect(await statusIn(all)).toBe("removed")
    expect(await textsIn(ben, id)).toEqual(["before"])
  })

  test.runIf(isLong).each(["removed", "leaving"] as const)(
    "reports a queued message of the other device, which returns when it is %s",
    async (status) => {
      const all = await scene(`ann, ${status}`)
      const { phone, laptop, id, fates } = all
      const { outboxId } = await laptop.messenger.encryptMessage(id, utf8("written offline"))
      await phone.messenger.leave(id)
      if (status === "removed") await ben.messenger.sync()
      const unsent: unknown[] = []
      laptop.messenger.subscribe((event) => event.is === "unsent" && unsent.push(event))
      await laptop.messenger.sync()
      expect(await statusIn(all)).toBe(status)
      const error = expect.objectContaining({ reason: "CONVERSATION_NOT_ACTIVE" })
      expect(unsent).toEqual([{ is: "unsent", conversationId: id, outboxId, error }])
      expect(await laptop.messenger.outbox(id)).toEqual([])
      for (const one of [ben, laptop, ben]) await one.messenger.sync()
      expect(await textsIn(ben, id)).toEqual(["before"])
      expect(fates).toEqual(["unsent"])
    },
  )

  test.runIf(isLong).each(["removed", "leaving"] as const)(
    "reports a message as delivered that the service accepted before, also on a device that is %s",
    async (status) => {
      const all = await scene(`ann, unanswered and ${status}`)
      const { phone, laptop, transport, id, fates } = all
      const answer = () => {
        throw new ConnectError("the answer is lost", Code.Unavailable)
      }
      transport.bend = { method: "AppendMessage", answer }
      await expect(laptop.messenger.send(id, utf8("accepted"))).rejects.toMatchObject({ reason: "QUEUED" })
      transport.bend = undefined
      await phone.messenger.leave(id)
      if (status === "removed") await ben.messenger.sync()
      await laptop.messenger.sync()
      expect(await statusIn(all)).toBe(status)
      expect(fates).toEqual(["delivered"])
      await ben.messenger.sync()
      expect(await textsIn(ben, id)).toEqual(["before", "accepted"])
    },
  )

  test.runIf(isLong)("delivers the queued messages of the leaving device first", async () => {
    const all = await scene("ann, who leaves on the laptop")
    const { laptop, id, fates } = all
    await laptop.messenger.encryptMessage(id, utf8("stored"))
    await laptop.messenger.leave(id)
    expect(fates).toEqual(["delivered"])
    expect(await statusIn(all)).toBe("leaving")
    await ben.messenger.sync()
    expect(await textsIn(ben, id)).toEqual(["before", "stored"])
  })

  test.runIf(isLong)("returns to the group after a leave that the service invented", async () => {
    const all = await scene("ann, who did not leave")
    const { laptop, transport, id } = all
    const { userId } = laptop.person
    const leave = create(DirectiveSchema, { kind: DirectiveKind.LEAVE, status: Directive_Status.OPEN, userId })
    let isLying = true
    const { unary } = transport
    transport.unary = async (method, ...call) => {
      const answer = await unary(method, ...call)
      const { conversation, conversations = [conversation] } = answer.message as {
        conversation?: Conversation
        conversations?: Conversation[]
      }
      const isOverview = method.name === "GetConversation" || method.name === "ListConversations"
      if (isOverview && isLying) for (const one of conversations) if (one?.id === id) one.directives.push(leave)
      return answer
    }
    await laptop.messenger.sync()
    expect(await statusIn(all)).toBe("leaving")
    isLying = false
    await laptop.messenger.sync()
    expect(await statusIn(all)).toBe("active")
    await laptop.messenger.send(id, utf8("still here"))
    await ben.messenger.sync()
    expect(await textsIn(ben, id)).toContain("still here")
  })

  test.runIf(isLong)("ends the conversation on a listening device by the hint", async () => {
    const all = await scene("ann, who listens")
    const { phone, laptop, id, fates } = all
    const ending = new AbortController()
    const running = laptop.messenger.run(ending.signal)
    await ben.messenger.sync()
    await ben.messenger.send(id, utf8("heard"))
    await expect.poll(() => textsIn(laptop, id), { timeout: 60_000 }).toContain("heard")
    await phone.messenger.leave(id)
    await expect.poll(() => statusIn(all), { timeout: 60_000 }).toBe("leaving")
    ending.abort()
    await running
    expect(fates).toEqual([])
  })

  test.runIf(isLong)("reports a queued message also if the last other member has gone", async () => {
    const all = await scene("ann, the last")
    const { phone, laptop, id, fates } = all
    await phone.messenger.removeMembers(id, [ben.person.userId])
    await laptop.messenger.sync()
    await laptop.messenger.encryptMessage(id, utf8("to nobody"))
    await phone.messenger.leave(id)
    await laptop.messenger.sync()
    expect(await statusIn(all)).toBe("removed")
    expect(fates).toEqual(["unsent"])
  })

  test.runIf(isLong)(
    "reports what waits if the other user has lost all devices, and a new device waits no longer",
    async () => {
      const { person: cat, ...lost } = await messengers.newcomer("cat, who loses a device")
      const phone = await messengers.newcomer("ann, whom nobody removes")
      const laptop = await messengers.open(await phone.person.again())
      await laptop.messenger.sync()
      const { id } = await phone.messenger.createGroupConversation([cat.userId])
      for (const one of [laptop, lost]) await one.messenger.sync()
      const { outboxId } = await laptop.messenger.encryptMessage(id, utf8("written offline"))
      await phone.messenger.leave(id)
      // The leave waits for the lost device, as long as nobody revokes it.
      const next = await messengers.open(await cat.again())
      await next.messenger.sync()
      expect((await phone.messenger.conversation(id))?.status).toBe("leaving")
      await next.messenger.revokeDevice(lost.messenger.deviceId)
      const fates: unknown[] = []
      laptop.messenger.subscribe((event) => event.is === "unsent" && fates.push(event.outboxId))
      await laptop.messenger.sync()
      expect(fates).toEqual([outboxId])
      expect(await laptop.messenger.outbox(id)).toEqual([])
      // The store of the revoked device knows the conversation.
      const back = await messengers.open(await cat.again(), { store: lost.store, box: lost.box })
      await back.messenger.startAnew()
      expect((await back.messenger.conversation(id))?.status).toBe("waiting")
      await back.messenger.sync()
      expect((await back.messenger.conversation(id))?.status).toBe("stranded")
      await expect(back.messenger.send(id, utf8("alone"))).rejects.toMatchObject({ reason: "CONVERSATION_NOT_ACTIVE" })
    },
  )
}
