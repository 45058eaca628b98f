// The messengers that packages export, with all that is real: the engine's proof, strict signatures, a file, a box.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { createMessenger as createPortableMessenger, openMemoryStore } from "@signet/client/messaging"
import { createFileLock, createFileShelf, createPassphraseBox } from "@signet/client-node"
import { createMessenger, openSqliteStore } from "@signet/client-node/messaging"
import { afterAll, beforeAll, expect, test } from "vitest"
import { testBox } from "../../clients/core/messaging/testing/test-box.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
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

/** As cheap as is accepted: what it costs is not what this is about. */
const boxOf = (passphrase: string) =>
  createPassphraseBox({
    shelf: createFileShelf(join(folder, "box")),
    lock: createFileLock(join(folder, "lock")),
    passphrase: async () => passphrase,
    parameters: { memoryKiB: 19_456, passes: 2 },
  })

test("a messenger in Node with its file and its box, and a portable one, write to each other", async () => {
  const messaging = { baseUrl: server.messagingUrl, issuerRootKeys: [server.issuerRootKey] }
  const person = await server.person("ann in Node")
  const open = (passphrase: string) =>
    createMessenger({
      messaging,
      session: sessionOf(person),
      store: openSqliteStore(join(folder, "messages")),
      secretBox: boxOf(passphrase),
    })
  const ann = await open("a passphrase of Ann's")
  const peer = await server.person("ben anywhere")
  const ben = await createPortableMessenger({
    messaging,
    session: sessionOf(peer),
    transport: messengers.transport,
    store: openMemoryStore(),
    secretBox: testBox(),
    clock: systemClock,
    random: { bytes: (length) => crypto.getRandomValues(new Uint8Array(length)) },
    platform: "anywhere",
  })
  await ben.sync()
  const { id } = await ann.createDirectConversation(peer.userId)
  await ann.send(id, utf8("a text that is looked for"))
  await ben.sync()
  await ben.send(id, utf8("an answer"))
  await ann.close()
  await expect(ann.send(id, utf8("too late"))).rejects.toMatchObject({ reason: "CLOSED" })

  await expect(open("another passphrase")).rejects.toMatchObject({ reason: "WRONG_PASSPHRASE" })
  const again = await open("a passphrase of Ann's")
  await again.sync()
  const texts = (await again.timeline(id)).flatMap((entry) =>
    entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : [],
  )
  expect(texts).toEqual(["a text that is looked for", "an answer"])
  for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    const bytes = readFileSync(join(file.parentPath, file.name))
    expect(bytes.includes("looked for"), file.name).toBe(false)
  }
  await again.destroyLocalState("destroy everything on this device")
  await expect(open("a passphrase of Ann's").then((one) => one.timeline(id))).rejects.toThrow()
})
