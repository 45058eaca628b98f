// The service's data is restored from a backup, after which conversations began and key packages were used.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { isLong, sample } from "../support/effort.ts"
import { type BackedUp, backedUp, inDatabaseOf } from "../support/messaging/backed-up.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { movedClock } from "../support/messaging/moved-clock.ts"
import { startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

const utf8 = (text: string) => new TextEncoder().encode(text)

describe.each(sample(1, Object.entries(backedUp)))("a service with %s", (_, start) => {
  let service: BackedUp
  let messengers: Messengers
  beforeAll(async () => {
    service = await start()
    messengers = messengersOn(service.server, { keyPackages: 4 })
  })
  afterAll(async () => {
    await messengers?.close()
    await service?.close()
  })

  async function syncAll(...all: readonly OpenedMessenger[]): Promise<void> {
    for (let round = 0; round < 3; round++) for (const { messenger } of all) await messenger.sync()
  }
  const newcomers = (...names: string[]) => Promise.all(names.map((name) => messengers.newcomer(name)))
  const statusOf = async ({ messenger }: OpenedMessenger, id: string) => (await messenger.conversation(id))?.status

  /** Each member writes, and all of them read it after what they had read before. */
  async function expectContinued(id: string, before: readonly string[], all: readonly OpenedMessenger[]) {
    for (const one of all) expect(await statusOf(one, id)).toBe("active")
    for (const { messenger } of all) await messenger.send(id, utf8("after"))
    await syncAll(...all)
    for (const one of all) expect(await textsIn(one, id)).toEqual([...before, ...all.map(() => "after")])
  }

  test.runIf(isLong)("gets conversations back that began after the backup", async () => {
    const [ada, bob, cid] = await newcomers("ada", "bob", "cid")
    if (ada === undefined || bob === undefined || cid === undefined) return expect.fail("nobody")
    await service.backUp()
    const { id: direct } = await ada.messenger.createDirectConversation(bob.person.userId)
    const { id: group } = await ada.messenger.createGroupConversation([bob.person.userId, cid.person.userId])
    await syncAll(bob, cid)
    for (const id of [direct, group]) {
      await ada.messenger.send(id, utf8("one"))
      await syncAll(bob, cid)
      await bob.messenger.send(id, utf8("two"))
    }
    await bob.messenger.refreshKeys(group)
    await syncAll(ada, bob, cid)
    await service.restore()

    await syncAll(bob, ada, cid)
    await expectContinued(direct, ["one", "two"], [bob, ada])
    await expectContinued(group, ["one", "two"], [cid, bob, ada])
    expect((await bob.messenger.createDirectConversation(ada.person.userId)).id).toBe(direct)
  })

  test.runIf(isLong)("gets the first commit of a conversation back, also from a member that it added", async () => {
    const [dan, eve] = await newcomers("dan", "eve")
    const fay = await messengers.open(await service.server.person("fay"))
    if (dan === undefined || eve === undefined) return expect.fail("nobody")
    const { id } = await dan.messenger.createDirectConversation(fay.person.userId)
    expect(await statusOf(dan, id)).toBe("waiting")
    await service.backUp()
    await fay.messenger.sync()
    await syncAll(dan, fay)
    await dan.messenger.send(id, utf8("one"))
    await syncAll(fay)
    await service.restore()

    await syncAll(fay)
    await expectContinued(id, ["one"], [fay])
    await syncAll(dan)
    await dan.messenger.send(id, utf8("and here"))
    await syncAll(fay)
    for (const one of [dan, fay]) expect(await textsIn(one, id)).toEqual(["one", "after", "and here"])
  })

  test.runIf(isLong)("adds a device whose key packages were used before the restore", async () => {
    const [gus, hal, ida] = await newcomers("gus", "hal", "ida")
    if (gus === undefined || hal === undefined || ida === undefined) return expect.fail("nobody")
    await service.backUp()
    const rooms: string[] = []
    for (let n = 0; n < 3; n++) {
      rooms.push((await gus.messenger.createGroupConversation([hal.person.userId])).id)
      await syncAll(hal)
    }
    await service.restore()

    const { id } = await ida.messenger.createGroupConversation([hal.person.userId])
    await syncAll(hal, ida, hal)
    await expectContinued(id, [], [ida, hal])
    await syncAll(gus, hal)
    for (const room of rooms) await expectContinued(room, [], [gus, hal])
  })
})

test.runIf(isLong)("a reset after the backup returns, and every device continues in the new group", async () => {
  const server = await startMessagingServer({ store: storyStore })
  const service = inDatabaseOf(server)
  const messengers = messengersOn(server, { keyPackages: 4 })
  const { clock, pass } = movedClock(() => server)
  try {
    const [lost, ben] = await Promise.all(["ada", "ben"].map((name) => messengers.newcomer(name, { clock })))
    if (lost === undefined || ben === undefined) return expect.fail("nobody")
    const { id } = await lost.messenger.createDirectConversation(ben.person.userId)
    for (let round = 0; round < 2; round++) await ben.messenger.sync()
    await pass()
    const ada = await messengers.open(await lost.person.again(), { clock })
    await ada.messenger.sync()
    await service.backUp()
    await ada.messenger.createDirectConversation(ben.person.userId)
    await ada.messenger.send(id, utf8("after the reset"))
    for (let round = 0; round < 2; round++) await ben.messenger.sync()
    await ben.messenger.send(id, utf8("answer"))
    await ada.messenger.sync()
    await service.restore()

    for (let round = 0; round < 3; round++) for (const { messenger } of [ada, ben]) await messenger.sync()
    for (const { messenger } of [ben, ada]) await messenger.send(id, utf8("after the restore"))
    for (const { messenger } of [ben, ada]) await messenger.sync()
    for (const one of [ada, ben]) {
      expect(await textsIn(one, id)).toEqual(["after the reset", "answer", "after the restore", "after the restore"])
    }
    expect((await ben.messenger.timeline(id)).filter(({ is }) => is === "reset")).toHaveLength(1)
  } finally {
    await messengers.close()
    await server.close()
  }
})
