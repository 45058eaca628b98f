// A user loses all devices and registers a new one while no other member is online. A member that returns adds it.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startEdgeServer } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type Serving, systemClock, textsIn } from "../support/messaging/messengers.ts"
import { startMessagingServer } from "../support/messaging/test-server.ts"
import { describeStory, storyStore } from "../support/postgres.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)

describeStory("a new device of a user who has lost all others", (kind) =>
  story(() => startMessagingServer({ store: kind })),
)
describe.runIf(isLong)("a new device of a user who has lost all others (the edge)", () =>
  story(() => startEdgeServer({ store: storyStore })),
)

function story(start: () => Promise<Serving & { close(): Promise<unknown> }>): void {
  let server: Awaited<ReturnType<typeof start>>
  let messengers: Messengers
  beforeAll(async () => {
    server = await start()
    messengers = messengersOn(server, { keyPackages: 4 })
  })
  afterAll(async () => {
    await messengers?.close()
    await server?.close()
  })

  test.runIf(isLong)("is added by a member that was offline meanwhile, and reads what follows", async () => {
    const [ann, ben, cid] = await Promise.all(["ann", "ben", "cid"].map((name) => messengers.newcomer(name)))
    if (ann === undefined || ben === undefined || cid === undefined) return expect.unreachable()
    const { id } = await ann.messenger.createGroupConversation([ben.person.userId, cid.person.userId])
    for (const each of [ben, cid]) await each.messenger.sync()
    await ann.messenger.send(id, utf8("to the lost device"))
    await cid.messenger.close()
    // The clock of the new device is ahead, so that it does not wait for the hint to work.
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 21_000 }
    const fresh = await messengers.open(await cid.person.again(), { clock })
    await fresh.messenger.sync()
    expect(await fresh.messenger.conversation(id)).toBeUndefined()
    await ben.messenger.sync()
    await ann.messenger.sync()
    await fresh.messenger.sync()
    await ann.messenger.send(id, utf8("to the new device"))
    await ben.messenger.send(id, utf8("from the other member"))
    await fresh.messenger.sync()
    expect(await textsIn(fresh, id)).toEqual(["to the new device", "from the other member"])
    await fresh.messenger.send(id, utf8("back"))
    await ben.messenger.sync()
    expect((await textsIn(ben, id)).at(-1)).toBe("back")
  })
}
