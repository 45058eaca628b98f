// The client core in an embedded engine, and a plain Node client, on one real server.
import { afterAll, beforeAll, expect, test } from "vitest"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { type Messengers, messengersOn, textsIn } from "../support/messaging/messengers.ts"
import { coreTexts, type NativeCores, nativeCoresOn } from "../support/messaging/native-cores.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers
let cores: NativeCores
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server)
  cores = await nativeCoresOn(server)
})
afterAll(async () => {
  await cores?.close()
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)

test("a core signs in, and writes to a plain Node client and back", async () => {
  const ann = await cores.newcomer("ann in the engine")
  const ben = await messengers.newcomer("ben in Node")
  const { conversation } = await ann.messenger.createDirectConversation({ peerUserId: ben.person.userId })
  const id = conversation?.id ?? ""
  await ann.messenger.send({ conversationId: id, plaintext: utf8("from the engine") })
  await ben.messenger.sync()
  await ben.messenger.send(id, utf8("from Node"))
  await ann.messenger.sync()
  expect(await textsIn(ben, id)).toEqual(["from the engine", "from Node"])
  expect(await coreTexts(ann, id)).toEqual(["from the engine", "from Node"])
})
