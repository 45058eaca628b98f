// A first exchange of messages between libsignet and a Node client.
import { expect } from "vitest"
import { clientOf } from "../../../clients/native/wasm/client.ts"
import { startDeployment } from "../edge-server.ts"
import { messengersOn, textsIn } from "../messaging/messengers.ts"
import { storyStore } from "../postgres.ts"
import { startDriver } from "./driver.ts"
import { type UnitLibrary, utf8 } from "./unit.ts"

/** Signs in with the real core, writes and reads. */
export async function exchangeMessages(library: UnitLibrary): Promise<void> {
  const server = await startDeployment({ store: storyStore })
  const messengers = messengersOn(server)
  const driver = startDriver(library.programs, "driver", undefined, library.emulator)
  try {
    const identity = {
      appId: server.app.id,
      authBaseUrl: server.url,
      providers: ["IDP_A"],
      audiences: [server.audience],
    }
    await driver.open({ ...library.optionsFor(), identity })
    const client = clientOf(driver)
    const { credential, nonce = "" } = await server.login("ann of libsignet")
    const idToken = credential?.case === "idToken" ? credential.value : ""
    await client.identity.login({ provider: "IDP_A", nonce, credential: { idToken } })
    const { audience, messagingUrl: baseUrl, issuerRootKey } = server
    await client.messenger.open({ baseUrl, audience, issuerRootKeys: [new Uint8Array(issuerRootKey)] })
    const ben = await messengers.newcomer("ben in Node")
    const request = { peerUserId: ben.person.userId }
    const id = (await client.messenger.createDirectConversation(request)).conversation?.id ?? ""
    await client.messenger.send({ conversationId: id, plaintext: utf8("from libsignet") })
    await ben.messenger.sync()
    await ben.messenger.send(id, utf8("from Node"))
    await client.messenger.sync()
    const { entries } = await client.messenger.listTimeline({ conversationId: id })
    const texts = entries.flatMap(({ entry }) =>
      entry.case === "message" ? [new TextDecoder().decode(entry.value.plaintext)] : [],
    )
    expect([texts, await textsIn(ben, id)]).toEqual([
      ["from libsignet", "from Node"],
      ["from libsignet", "from Node"],
    ])
    expect(await driver.close()).toBe(0)
  } finally {
    driver.kill()
    await messengers.close()
    await server.close()
  }
}
