// Colluding accounts upload key packages with long lists of capabilities and extensions. Were each accepted, one commit
// that adds them all would have more list elements than a client decodes, and no member could read the group any more.
import { maxLeafElements } from "@signet/canonical/leaf-elements"
import type { KeyPackage } from "ts-mls/keyPackage.js"
import { afterAll, beforeAll, expect, test } from "vitest"
import { maxCount } from "../../server/kernel/messaging/limits.ts"
import { protocols, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { newDevice } from "../support/messaging/device.ts"
import { forgedKeyPackage } from "../support/messaging/forged.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import type { SignedIn } from "../support/messaging/world.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let messengers: Messengers
let ann: OpenedMessenger
let ben: OpenedMessenger
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server)
  ann = await messengers.newcomer("ann")
  ben = await messengers.newcomer("ben")
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const extensions = (count: number, first: number) =>
  Array.from({ length: count }, (_, i) => ({ extensionType: first + i, extensionData: new Uint8Array() }))
const grease = (count: number) => new Array<number>(count).fill(0x1a1a)

/** The longest lists that the framing allows each by itself: 64 entries and 16 extensions were accepted once. */
function widest({ leafNode }: KeyPackage) {
  const { versions, ciphersuites, credentials, extensions: known } = leafNode.capabilities
  const ofLeaf = extensions(16, 0x2a00)
  const supported = [...known, ...ofLeaf.map(({ extensionType }) => extensionType)]
  const capabilities = {
    versions: new Array(64).fill(versions[0]),
    ciphersuites: new Array(64).fill(ciphersuites[0]),
    extensions: [...supported, ...grease(64 - supported.length)],
    proposals: grease(64),
    credentials: new Array(64).fill(credentials[0]),
  }
  return { leafNode: { ...leafNode, capabilities, extensions: ofLeaf }, extensions: extensions(16, 0x2b00) }
}

/** As many list elements as a leaf may have. */
const widestAccepted = ({ leafNode }: KeyPackage) => ({
  leafNode: { ...leafNode, capabilities: { ...leafNode.capabilities, proposals: grease(maxLeafElements - 5) } },
})

/** Registers as many devices as an account may have. Each uploads key packages. @returns The service's answers. */
async function colluding(person: SignedIn): Promise<string[]> {
  const [connect = expect.fail()] = Object.values(protocols)
  const answers = new Set<string>()
  for (let i = 0; i < maxCount.devicesPerUser; i++) {
    const device = await newDevice(connect(server.url), await person.again())
    await device.register()
    const [made = expect.fail()] = await device.newKeyPackages(1)
    for (const bend of [widest, widestAccepted]) {
      const keyPackage = await forgedKeyPackage(made.keyPackage, device.identity, bend)
      const upload = device.calls.keyPackages.uploadKeyPackages({ packages: [{ keyPackage, isLastResort: false }] })
      answers.add(
        await upload.then(
          () => "accepted",
          () => refusal(upload),
        ),
      )
    }
  }
  return [...answers]
}

test.runIf(isLong)("colluding accounts cannot make a commit that the service accepts and members refuse", async () => {
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  await ben.messenger.sync()
  const people = await Promise.all(["mal", "max", "may"].map((name) => server.person(name)))
  const answers = await Promise.all(people.map(colluding))
  const added = ann.messenger.addMembers(
    id,
    people.map(({ userId }) => userId),
  )
  expect(await added.catch((error: unknown) => error)).toBe(undefined)
  await ann.messenger.send(id, new TextEncoder().encode("still here"))
  await ben.messenger.sync()
  expect(await ben.messenger.conversation(id)).toMatchObject({ status: "active" })
  expect(await textsIn(ben, id)).toEqual(["still here"])
  expect(answers).toEqual(new Array(people.length).fill(["InvalidArgument MLS_MALFORMED", "accepted"]))
})
