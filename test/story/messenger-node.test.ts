// The exported messengers with all real parts: the engine's proof, strict signatures, a file, a secret box.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { createMessenger as createPortableMessenger, openMemoryStore } from "@signet/client/messaging"
import { createFileLock, createFileStorage, createPassphraseBox } from "@signet/client-node"
import { createMessenger, type Messenger, openFolderStore, openSqliteStore } from "@signet/client-node/messaging"
import { afterAll, beforeAll, expect, test } from "vitest"
import { testBox } from "../../clients/core/messaging/testing/test-box.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { effort, isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type Messengers, messengersOn, systemClock } from "../support/messaging/messengers.ts"
import type { SignedIn } from "../support/messaging/world.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers
const folder = mkdtempSync(join(fastTmpdir(), "signet-messenger-"))
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server)
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
})

const utf8 = (text: string) => new TextEncoder().encode(text)
const sessionOf = (person: SignedIn) => ({
  appId: server.app.id,
  tenantId: undefined,
  userId: person.userId,
  accessToken: async () => person.accessToken,
  renewToken: () => person.refresh(),
})

/** With the minimal cost of key derivation, which is not tested here. */
const boxOf = (passphrase: string, whose = "ann") =>
  createPassphraseBox({
    storage: createFileStorage(join(folder, `box of ${whose}`)),
    lock: createFileLock(join(folder, `lock of ${whose}`)),
    passphrase: async () => passphrase,
    parameters: { memoryKiB: 19_456, passes: 2 },
  })

const textsIn = async ({ timeline }: Messenger, id: string) =>
  (await timeline(id)).flatMap((entry) => (entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : []))
const messaging = () => ({ baseUrl: server.messagingUrl, issuerRootKeys: [server.issuerRootKey] })
/** With a SQLite file. */
const openAnn = (person: SignedIn, passphrase: string) =>
  createMessenger({
    messaging: messaging(),
    session: sessionOf(person),
    store: openSqliteStore(join(folder, "messages")),
    secretBox: boxOf(passphrase),
  })
/** With a folder of plain files. */
const openBen = async (person: SignedIn) =>
  createMessenger({
    messaging: messaging(),
    session: sessionOf(person),
    store: await openFolderStore(join(folder, "ben's messages")),
    secretBox: boxOf("a passphrase of Ben's", "ben"),
  })

test.runIf(isLong)(
  "two devices in Node, one with a file and one with a folder, write to each other, also after restarts",
  async () => {
    const person = await server.person("ann in Node")
    const ann = await openAnn(person, "a passphrase of Ann's")
    const peer = await server.person("ben in Node")
    const ben = await openBen(peer)
    await ben.sync()
    const { id } = await ann.createDirectConversation(peer.userId)
    await ann.send(id, utf8("a text that is looked for"))
    await ben.sync()
    await ben.send(id, utf8("an answer"))
    await ann.close()
    await expect(ann.send(id, utf8("too late"))).rejects.toMatchObject({ reason: "CLOSED" })
    await ben.close()

    await expect(openAnn(person, "another passphrase")).rejects.toMatchObject({ reason: "WRONG_PASSPHRASE" })
    const again = await openAnn(person, "a passphrase of Ann's")
    await again.sync()
    await again.send(id, utf8("looked for after a restart"))
    const benAgain = await openBen(peer)
    await benAgain.sync()
    const texts = ["a text that is looked for", "an answer", "looked for after a restart"]
    for (const one of [again, benAgain]) expect(await textsIn(one, id)).toEqual(texts)
    await benAgain.close()
    let files = 0
    for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue
      files++
      const bytes = readFileSync(join(file.parentPath, file.name))
      expect(bytes.includes("looked for"), file.name).toBe(false)
    }
    expect(files).toBeGreaterThan(5)
    await again.destroyLocalState("destroy everything on this device")
    await expect(openAnn(person, "a passphrase of Ann's").then((one) => one.timeline(id))).rejects.toMatchObject({
      reason: "SECURE_STORE_CHANGED",
    })
  },
)

test.skipIf(effort(true, false, false))("the portable messenger writes to one opened by test code", async () => {
  const person = await server.person("cid anywhere")
  const cid = await createPortableMessenger({
    messaging: messaging(),
    session: sessionOf(person),
    transport: messengers.transport,
    store: openMemoryStore(),
    secretBox: testBox(),
    clock: systemClock,
    random: { bytes: (length) => crypto.getRandomValues(new Uint8Array(length)) },
    platform: "anywhere",
  })
  const dot = await messengers.newcomer("dot")
  const { id } = await cid.createDirectConversation(dot.person.userId)
  await cid.send(id, utf8("from anywhere"))
  await dot.messenger.sync()
  expect(await textsIn(dot.messenger, id)).toEqual(["from anywhere"])
  await cid.close()
})
