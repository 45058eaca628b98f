// A core whose process ends at any operation of its store: another core continues, and each message arrives once.
import { afterAll, beforeAll, expect, test } from "vitest"
import { type Fault, faultyStore } from "../../clients/core/messaging/testing/faulty-store.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { effort, isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { type CoreMember, type NativeCores, nativeCoresOn } from "../support/messaging/native-cores.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers
let cores: NativeCores
let ann: CoreMember
let ben: OpenedMessenger
let conversationId: string
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server, { keyPackages: 8 })
  cores = await nativeCoresOn(server)
  ann = await cores.newcomer("ann who crashes")
  ben = await messengers.newcomer("ben who does not")
  const { conversation } = await ann.messenger.createDirectConversation({ peerUserId: ben.person.userId })
  conversationId = conversation?.id ?? ""
  await ann.core.close()
})
afterAll(async () => {
  await cores?.close()
  await messengers?.close()
  await server?.close()
})

/** Opens a core on a store with a fault, sends, and renews its keys. @returns The number of operations. */
async function work(text: string, fault?: Fault): Promise<number> {
  const store = faultyStore(ann.kept.store, fault)
  const core = await cores.start({ ...ann.kept, store })
  try {
    await core.open()
    await core.messenger.send({ conversationId, plaintext: new TextEncoder().encode(text) })
    await core.messenger.refreshKeys({ conversationId })
    if (fault === undefined) await core.messenger.close()
  } catch (error) {
    expect(Object(error).name).toBe("CoreError")
    // The fault's own message stays with the host.
    expect(String(error)).not.toMatch(/operation \d+/)
  }
  await core.core.close()
  return store.count
}

test.runIf(isLong)(
  "a message that was stored arrives once, wherever the process has ended",
  async () => {
    const operations = await work("without a fault")
    expect(operations).toBeGreaterThan(10)
    const faults = Array.from({ length: operations }, (_, at): [Fault, Fault] => [
      { at, when: at % 2 === 0 ? "before" : "after", ends: true },
      { at, when: at % 2 === 0 ? "after" : "before", ends: true },
    ])
    const [some, others] = [faults.map(([one]) => one), faults.map(([, other]) => other)]
    const texts = ["without a fault"]
    for (const fault of effort([], some, [...some, ...others])) {
      const text = `${fault.at} ${fault.when}`
      await work(text, fault)
      const again = await cores.start(ann.kept)
      await again.open()
      await again.messenger.sync()
      expect((await again.messenger.listOutbox({ conversationId })).items).toEqual([])
      const { conversation } = await again.messenger.getConversation({ conversationId })
      expect(conversation?.status).toBe("active")
      await again.core.close()
      await ben.messenger.sync()
      const arrived = (await textsIn(ben, conversationId)).filter((one) => one === text)
      expect(arrived.length).toBeLessThanOrEqual(1)
      if (arrived.length === 1) texts.push(text)
    }
    expect(await textsIn(ben, conversationId)).toEqual(texts)
  },
  600_000,
)
