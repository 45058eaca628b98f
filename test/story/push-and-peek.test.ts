// A push wakes up a closed app, a peek shows the message, and the app then receives it once. On both backends.
import { afterAll, beforeAll, expect, test } from "vitest"
import { boundedTransport } from "../../clients/core/messaging/peek/bounded-transport.ts"
import { peekWith } from "../../clients/core/messaging/peek/peek.ts"
import {
  deletePushEndpoint,
  setPushEndpoint,
  pushSettings as settingsOf,
} from "../../clients/core/messaging/push/index.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { effort, isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, textsIn } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"
import { type FakePushProvider, pushSettings, startFakePushProvider } from "../support/push-provider.ts"

let server: Deployment
let provider: FakePushProvider
let messengers: Messengers

beforeAll(async () => {
  provider = await startFakePushProvider()
  server = await startDeployment({ store: storyStore, push: pushSettings() })
  messengers = messengersOn(server, { keyPackages: 3 })
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
  await provider?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)
const pushes = () => provider.received.length

test.runIf(isLong)("a message wakes up a closed app: a peek shows it, and the app then receives it once", async () => {
  const [ann, ben] = [await messengers.newcomer("ann"), await messengers.newcomer("ben")]
  const { id } = await ann.messenger.createDirectConversation(ben.person.userId)
  await ben.messenger.sync()
  expect((await settingsOf(ben.messenger))?.kinds).toContain("webPush")
  await setPushEndpoint(ben.messenger, { is: "webPush", url: `${provider.url}/ben` })
  await ben.messenger.close()
  await ann.messenger.send(id, utf8("wake up"))
  /** The sender's calls keep its connection open: a service closes idle ones. */
  const wokenUp = async () => {
    await ann.messenger.sync()
    return pushes()
  }
  await expect.poll(wokenUp, { interval: 500, timeout: 60_000 }).toBe(1)
  expect(provider.received[0]).toMatchObject({ path: "/ben", body: Buffer.alloc(0) })

  const { person, box, store } = ben
  const rows = await store.list(id, "timeline")
  const { generation } = await store.read(id, [])
  const transport = boundedTransport(server.messagingUrl, fetch)
  const peeked = await peekWith(...messengers.optionsFor(person, { store, box, transport }))
  const entry = { is: "message", plaintext: utf8("wake up") }
  expect(peeked).toMatchObject({ is: "previews", previews: [{ conversationId: id, entry }], hasMore: false })
  expect(await store.list(id, "timeline")).toEqual(rows)
  expect((await store.read(id, [])).generation).toBe(generation)

  const again = await messengers.open(person, { store, box })
  await again.messenger.sync()
  expect(await textsIn(again, id)).toEqual(["wake up"])
  await again.messenger.send(id, utf8("awake"))
  await ann.messenger.sync()
  expect(await textsIn(ann, id)).toEqual(["wake up", "awake"])

  await deletePushEndpoint(again.messenger)
  await ann.messenger.send(id, utf8("nobody is woken up"))
  // In the long form longer than the interval and the delay of a push.
  for (let second = 0; second < effort(1, 8, 8); second++) {
    await new Promise((passed) => setTimeout(passed, 1_000))
    expect(await wokenUp()).toBe(1)
  }
})
