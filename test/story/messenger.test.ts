// Two and more people, each with the real client, on the real server.
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { effort, isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"
import { describeStory } from "../support/postgres.ts"

describeStory("messengers", (kind) => {
  let server: Deployment
  let messengers: Messengers
  beforeAll(async () => {
    server = await startDeployment({ store: kind })
    messengers = messengersOn(server)
  })
  afterAll(async () => {
    await messengers?.close()
    await server?.close()
  })

  const utf8 = (text: string) => new TextEncoder().encode(text)
  const textsIn = async ({ messenger }: { messenger: Messenger }, conversationId: string) =>
    (await messenger.timeline(conversationId, { limit: 10_000 })).flatMap((entry) =>
      entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : [],
    )
  const sync = async (...opened: OpenedMessenger[]) => {
    for (const { messenger } of opened) await messenger.sync()
  }
  const ids = (...opened: OpenedMessenger[]) => [...new Set(opened.map(({ person }) => person.userId))].sort()
  const membersOf = async ({ messenger }: OpenedMessenger, id: string) =>
    [...((await messenger.conversation(id))?.memberUserIds ?? [])].sort()

  test("two people write to each other", async () => {
    const ann = await messengers.newcomer("ann")
    const ben = await messengers.newcomer("ben")
    const { id, status } = await ann.messenger.createDirectConversation(ben.person.userId)
    expect(status).toBe("active")
    await ann.messenger.send(id, utf8("hello"))
    await sync(ben)
    expect(await textsIn(ben, id)).toEqual(["hello"])
    await ben.messenger.send(id, utf8("hello back"))
    await sync(ann)
    expect(await textsIn(ann, id)).toEqual(["hello", "hello back"])
  })

  test.runIf(isLong)("a direct conversation exists once, whoever creates it, also at the same time", async () => {
    const ann = await messengers.newcomer("ann at once")
    const ben = await messengers.newcomer("ben at once")
    const made = await Promise.all([
      ann.messenger.createDirectConversation(ben.person.userId),
      ben.messenger.createDirectConversation(ann.person.userId),
    ])
    expect(made[0].id).toBe(made[1].id)
    const [{ id }] = made
    await sync(ann, ben, ann)
    await ann.messenger.send(id, utf8("from ann"))
    await ben.messenger.send(id, utf8("from ben"))
    await sync(ann, ben)
    expect((await textsIn(ann, id)).sort()).toEqual(["from ann", "from ben"])
    expect(await textsIn(ben, id)).toEqual(await textsIn(ann, id))
  })

  test.runIf(isLong)(
    "three people with five devices are in one group, and a new device of theirs is added automatically",
    async () => {
      const ann = await messengers.newcomer("ann with two")
      const annToo = await messengers.open(await ann.person.again())
      const ben = await messengers.newcomer("ben with two")
      const benToo = await messengers.open(await ben.person.again())
      const cid = await messengers.newcomer("cid with one")
      await sync(annToo, benToo)
      const { id } = await ann.messenger.createGroupConversation(ids(ben, cid))
      const all = [ann, annToo, ben, benToo, cid]
      await sync(...all)
      for (const [i, one] of all.entries()) await one.messenger.send(id, utf8(`from ${i}`))
      await sync(...all)
      const texts = all.map((_, i) => `from ${i}`)
      for (const one of all) expect(await textsIn(one, id)).toEqual(texts)

      const cidToo = await messengers.open(await cid.person.again())
      await sync(cidToo, cid, cidToo)
      await cidToo.messenger.send(id, utf8("from a new device"))
      await sync(...all)
      for (const one of all) expect((await textsIn(one, id)).at(-1)).toBe("from a new device")
      expect(await textsIn(cidToo, id)).toEqual(["from a new device"])
    },
  )

  test("members change: a removed one reads no further, an added one reads from there", async () => {
    const ann = await messengers.newcomer("ann adds")
    const ben = await messengers.newcomer("ben stays")
    const cid = await messengers.newcomer("cid goes")
    const dot = await messengers.newcomer("dot comes")
    const { id } = await ann.messenger.createGroupConversation(ids(ben, cid))
    await sync(ben, cid)
    await ann.messenger.send(id, utf8("to three"))
    await ann.messenger.removeMembers(id, ids(cid))
    await ann.messenger.send(id, utf8("to two"))
    await ann.messenger.addMembers(id, ids(dot))
    await ann.messenger.send(id, utf8("to three again"))
    await sync(ben, cid, dot)
    expect(await membersOf(ann, id)).toEqual(ids(ann, ben, dot))
    expect(await membersOf(ben, id)).toEqual(ids(ann, ben, dot))
    expect(await textsIn(ben, id)).toEqual(["to three", "to two", "to three again"])
    expect(await textsIn(cid, id)).toEqual(["to three"])
    expect(await textsIn(dot, id)).toEqual(["to three again"])
    expect((await cid.messenger.conversation(id))?.status).toBe("removed")
    await expect(cid.messenger.send(id, utf8("let me in"))).rejects.toMatchObject({ reason: "CONVERSATION_NOT_ACTIVE" })
  })

  test.runIf(isLong)("a member who requests to leave is removed by the others", async () => {
    const ann = await messengers.newcomer("ann remains")
    const ben = await messengers.newcomer("ben leaves")
    const cid = await messengers.newcomer("cid remains")
    const { id } = await ann.messenger.createGroupConversation(ids(ben, cid))
    await sync(ben, cid)
    await ben.messenger.leave(id)
    await expect(ben.messenger.send(id, utf8("one more"))).rejects.toMatchObject({ reason: "CONVERSATION_NOT_ACTIVE" })
    await sync(ann, cid, ben)
    expect(await membersOf(cid, id)).toEqual(ids(ann, cid))
    expect((await ben.messenger.conversation(id))?.status).toBe("removed")
  })

  test.runIf(isLong).each(["is lost", "arrives"])("the last member has left when the answer %s", async (fate) => {
    const ben = await messengers.newcomer("ben is removed")
    const plain = messengers.transport
    const transport: Transport = {
      ...plain,
      async unary(...call) {
        const answer = await plain.unary(...call)
        const isLost = fate === "is lost" && call[0].name === "LeaveConversation"
        if (isLost) throw new ConnectError("the answer is lost", Code.Unavailable)
        return answer
      },
    }
    const ann = await messengers.newcomer("ann is the last", { transport })
    // Another device of hers, which takes no part.
    const other = await messengers.open(await ann.person.again())
    await sync(other)
    const { id } = await ann.messenger.createGroupConversation(ids(ben))
    await sync(ann, other)
    await ann.messenger.removeMembers(id, ids(ben))
    await sync(other)
    const leaving = ann.messenger.leave(id)
    if (fate === "is lost") await expect(leaving).rejects.toThrow("lost")
    else await leaving
    await sync(ann, other)
    for (const { messenger } of [ann, other]) {
      expect((await messenger.conversation(id))?.status).toBe("removed")
      const sending = messenger.send(id, utf8("anybody?"))
      await expect(sending).rejects.toMatchObject({ reason: "CONVERSATION_NOT_ACTIVE" })
    }
  })

  test.runIf(isLong)("a lost device is removed everywhere, and the user's other one continues", async () => {
    const ann = await messengers.newcomer("ann loses one")
    const annLost = await messengers.open(await ann.person.again())
    const ben = await messengers.newcomer("ben of the lost")
    await sync(annLost)
    const { id } = await ben.messenger.createDirectConversation(ann.person.userId)
    await sync(ann, annLost)
    await ann.messenger.revokeDevice(annLost.messenger.deviceId)
    await sync(ben)
    await ben.messenger.send(id, utf8("not for the finder"))
    await sync(ann)
    expect(await textsIn(ann, id)).toEqual(["not for the finder"])
    await expect(annLost.messenger.run(new AbortController().signal)).rejects.toThrow(/(session|device) was revoked/)
    expect(await textsIn(annLost, id)).toEqual([])
  })

  test.runIf(isLong)("a device that was away for many epochs reads all of them", async () => {
    const ann = await messengers.newcomer("ann changes keys")
    const ben = await messengers.newcomer("ben is away")
    const { id } = await ann.messenger.createDirectConversation(ben.person.userId)
    await sync(ben)
    const epochs = effort(5, 100, 500)
    const texts: string[] = []
    for (let i = 0; i < epochs; i++) {
      texts.push(`in epoch ${i}`)
      await ann.messenger.send(id, utf8(`in epoch ${i}`))
      await ann.messenger.refreshKeys(id)
    }
    await sync(ben)
    expect(await textsIn(ben, id)).toEqual(texts)
  })

  test.runIf(isLong)("two members who change the members at the same time both succeed", async () => {
    const ann = await messengers.newcomer("ann also adds")
    const ben = await messengers.newcomer("ben also adds")
    const cid = await messengers.newcomer("cid is added")
    const dot = await messengers.newcomer("dot is added")
    const { id } = await ann.messenger.createGroupConversation(ids(ben))
    await sync(ben)
    await Promise.all([
      ann.messenger.addMembers(id, ids(cid)),
      ben.messenger.addMembers(id, ids(dot)),
      ann.messenger.send(id, utf8("meanwhile")),
      ben.messenger.send(id, utf8("meanwhile too")),
    ])
    await sync(ann, ben, cid, dot)
    for (const one of [ann, ben, cid, dot]) expect(await membersOf(one, id)).toEqual(ids(ann, ben, cid, dot))
    expect((await textsIn(ann, id)).sort()).toEqual(["meanwhile", "meanwhile too"])
    expect(await textsIn(ben, id)).toEqual(await textsIn(ann, id))
  })

  test.runIf(isLong)("the same account in two tabs: one store, one device, no duplicate message", async () => {
    const ann = await messengers.newcomer("ann in two tabs")
    const ben = await messengers.newcomer("ben of the tabs")
    const tab = await messengers.open(ann.person, ann)
    expect(tab.messenger.deviceId).toBe(ann.messenger.deviceId)
    const { id } = await ann.messenger.createDirectConversation(ben.person.userId)
    await sync(ben)
    const texts = Array.from({ length: 6 }, (_, i) => `message ${i}`)
    await Promise.all(texts.map((text, i) => (i % 2 ? ann : tab).messenger.send(id, utf8(text))))
    await sync(ben)
    expect((await textsIn(ben, id)).sort()).toEqual(texts.toSorted())
    expect(await textsIn(tab, id)).toEqual(await textsIn(ben, id))
  })

  test.runIf(isLong)("a restart after any step changes nothing", async () => {
    const ann = await messengers.newcomer("ann restarts")
    const ben = await messengers.newcomer("ben restarts")
    const again = (of: OpenedMessenger) => messengers.open(of.person, { store: of.store, box: of.box })
    const { id } = await ann.messenger.createDirectConversation(ben.person.userId)
    let one = await again(ann)
    let other = await again(ben)
    await sync(other)
    for (let i = 0; i < 2; i++) {
      await one.messenger.send(id, utf8(`ann ${i}`))
      if (i === 1) await one.messenger.refreshKeys(id)
      one = await again(one)
      other = await again(other)
      await sync(other)
      await other.messenger.send(id, utf8(`ben ${i}`))
      await sync(one)
    }
    const texts = [0, 1].flatMap((i) => [`ann ${i}`, `ben ${i}`])
    expect(await textsIn(await again(one), id)).toEqual(texts)
    expect(await textsIn(await again(other), id)).toEqual(texts)
  })

  test.runIf(isLong)("a client that follows the hints gets everything without a sync", async () => {
    const ending = new AbortController()
    const ann = await messengers.newcomer("ann follows")
    const ben = await messengers.newcomer("ben follows")
    const cid = await messengers.newcomer("cid follows")
    const heard = (of: OpenedMessenger, text: string) => {
      const { promise, resolve } = Promise.withResolvers<string>()
      of.messenger.subscribe((event) => {
        const isIt = event.is === "entry" && event.entry.is === "message"
        if (isIt && new TextDecoder().decode(event.entry.plaintext) === text) resolve(event.conversationId)
      })
      return promise
    }
    const running = [ann, ben, cid].map(({ messenger }) => messenger.run(ending.signal))
    const { id } = await ann.messenger.createGroupConversation(ids(ben))
    const hello = heard(ben, "hello")
    await ann.messenger.send(id, utf8("hello"))
    expect(await hello).toBe(id)
    await ann.messenger.addMembers(id, ids(cid))
    const all = [heard(ann, "to all"), heard(cid, "to all")]
    await ben.messenger.send(id, utf8("to all"))
    expect(await Promise.all(all)).toEqual([id, id])
    // Each follower carries out a directive.
    const gone = new Promise<void>((resolve) => {
      cid.messenger.subscribe((event) => event.is === "status" && event.status === "removed" && resolve())
    })
    await cid.messenger.leave(id)
    await gone
    await expect.poll(() => membersOf(ben, id)).toEqual(ids(ann, ben))
    ending.abort()
    await Promise.all(running)
  })

  test.runIf(isLong)("the stream of events starts at its subscription, and ends with its signal", async () => {
    const ending = new AbortController()
    const ann = await messengers.newcomer("ann streams")
    const ben = await messengers.newcomer("ben streams")
    const { id } = await ann.messenger.createDirectConversation(ben.person.userId)
    const events = ann.messenger.events(ending.signal)
    await ann.messenger.send(id, utf8("one"))
    await ann.messenger.removeMembers(id, []).catch(() => undefined)
    ending.abort()
    const seen: string[] = []
    for await (const event of events) seen.push(event.is)
    expect(seen).toContain("entry")
  })
})
