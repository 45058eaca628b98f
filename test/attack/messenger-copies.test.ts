// A store that was put back whole, or copied with its machine: nothing is written under a key that was used, and nothing
// that is said to be sent is lost.
import { randomBytes } from "node:crypto"
import { afterAll, beforeAll, expect, test } from "vitest"
import { idOf } from "../../clients/core/messaging/ids.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import type { MessagingStore } from "../../clients/core/messaging/store/store.ts"
import { copyOf } from "../support/messaging/copied-store.ts"
import { type Messengers, messengersOn, type Seated, textsIn } from "../support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let messengers: Messengers
let ben: Seated
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server)
  ben = await messengers.newcomer("ben")
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)

test("what is sent first thing from a store that was put back is not sent under a key that was used, and not lost", async () => {
  const ann = await messengers.newcomer("ann with a backup")
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  await ann.messenger.send(id, utf8("one"))
  const backup = await copyOf(ann.store)
  await ann.messenger.send(id, utf8("two"))
  await ann.messenger.close()

  const old = await messengers.open(ann.person, { store: backup, box: ann.box })
  await expect(old.messenger.send(id, utf8("three"))).rejects.toMatchObject({
    reason: "QUEUED",
    cause: { reason: "STATE_ROLLBACK" },
  })
  expect((await old.messenger.conversation(id))?.status).toBe("rolledBack")
  for (const one of [old, ben, old, ben]) await one.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["one", "two", "three"])
  const unreadable = (await ben.messenger.timeline(id)).filter(({ is }) => is === "unreadable")
  expect(unreadable).toEqual([])
})

test("a name that another script of the page's origin says opens no door", async () => {
  const { person, store, box } = await messengers.newcomer("ann in a tab")
  const said: ((space: string) => void)[] = []
  const watched: MessagingStore = { ...store, watch: (listener) => void said.push(listener) }
  const { context } = await openContext(...messengers.optionsFor(person, { store: watched, box }))
  const names = [...Array.from({ length: 200 }, () => idOf("cnv", randomBytes(16))), "", "device ", "../state"]
  for (const name of names) for (const say of said) say(name)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(said).toHaveLength(1)
  for (const name of names) expect(await context.has(name)).toBe(false)
})
