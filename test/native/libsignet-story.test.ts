// A program on libsignet, with its real core and its own hosts, and a plain Node client, on one real server.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type CoreClient, clientOf } from "../../clients/native/wasm/client.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type Messengers, messengersOn, textsIn } from "../support/messaging/messengers.ts"
import { type Driver, type HostMode, type NativeOptionsInit, startDriver } from "../support/native/driver.ts"
import { buildNative, whyNoLibrary } from "../support/native/library.ts"
import { storyStore } from "../support/postgres.ts"
import { startProgram } from "../support/program.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)

const planted = "from C, planted-77aa01"
/** The first bytes of a JWT's header, `{"alg":"`. */
const tokenStart = "eyJhbGciOi"

interface Program extends CoreClient {
  readonly driver: Driver
  signIn(subject: string): Promise<string>
  openMessenger(): Promise<string>
}

describe.skipIf(whyNoLibrary !== undefined)(whyNoLibrary ?? "a program on libsignet", () => {
  let server: Deployment
  let messengers: Messengers
  let programs: string
  let folder: string
  const drivers: Driver[] = []
  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-lib-"))
    programs = (await buildNative()).folder
    server = await startDeployment({ store: storyStore })
    messengers = messengersOn(server)
  }, 900_000)
  afterAll(async () => {
    for (const driver of drivers) driver.kill()
    await messengers?.close()
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const optionsFor = (name: string, passphrase = "correct horse"): NativeOptionsInit => ({
    identity: {
      appId: server.app.id,
      authBaseUrl: server.url,
      providers: ["IDP_A"],
      audiences: [server.audience],
    },
    dataFolder: join(folder, name),
    box: { case: "passphrase", value: { passphrase: utf8(passphrase) } },
  })

  async function start(name: string, passphrase?: string, mode: HostMode = "log"): Promise<Program> {
    const driver = startDriver(programs, "driver")
    drivers.push(driver)
    await driver.open(optionsFor(name, passphrase), mode)
    const client = clientOf(driver)
    return {
      ...client,
      driver,
      async signIn(subject) {
        const { credential, nonce = "" } = await server.login(subject)
        const idToken = credential?.case === "idToken" ? credential.value : ""
        const { user } = await client.identity.login({ provider: "IDP_A", nonce, credential: { idToken } })
        return user?.principalId ?? ""
      },
      async openMessenger() {
        const { audience, messagingUrl: baseUrl, issuerRootKey } = server
        const request = { baseUrl, audience, issuerRootKeys: [new Uint8Array(issuerRootKey)] }
        return (await client.messenger.open(request)).deviceId
      },
    }
  }

  async function texts({ messenger }: CoreClient, conversationId: string): Promise<string[]> {
    const { entries } = await messenger.listTimeline({ conversationId })
    return entries.flatMap(({ entry }) =>
      entry.case === "message" ? [new TextDecoder().decode(entry.value.plaintext)] : [],
    )
  }

  test("libsignet signs in, exchanges messages with a Node client, and continues from its folder", async () => {
    const ann = await start("ann")
    await ann.signIn("ann in C")
    const device = await ann.openMessenger()
    const ben = await messengers.newcomer("ben in Node")
    const { conversation } = await ann.messenger.createDirectConversation({ peerUserId: ben.person.userId })
    const id = conversation?.id ?? ""
    await ann.messenger.send({ conversationId: id, plaintext: utf8(planted) })
    await ben.messenger.sync()
    await ben.messenger.send(id, utf8("from Node"))
    await ann.messenger.sync()
    expect(await textsIn(ben, id)).toEqual([planted, "from Node"])
    expect(await texts(ann, id)).toEqual([planted, "from Node"])
    // The texts are in the core's memory until it is closed, and so is the beginning of an access token.
    expect(await ann.driver.scan(planted)).toBeGreaterThan(0)
    expect(await ann.driver.scan(tokenStart)).toBeGreaterThan(0)
    expect(await ann.driver.close()).toBe(0)
    expect([await ann.driver.scan(planted), await ann.driver.scan(tokenStart)]).toEqual([0, 0])
    await ann.driver.stop()

    const again = await start("ann")
    expect((await again.identity.ready()).state?.state.case).toBe("signedIn")
    expect(await again.openMessenger()).toBe(device)
    await ben.messenger.send(id, utf8("after the restart"))
    await again.messenger.sync()
    expect(await texts(again, id)).toEqual([planted, "from Node", "after the restart"])
    const late = again.messenger.send({ conversationId: id, plaintext: utf8("before the kill") })
    again.driver.kill()
    await expect(late).rejects.toThrow("the driver ended")

    // The message was sent, or is sent now; or it was not stored yet. It is never sent twice.
    const third = await start("ann")
    expect(await third.openMessenger()).toBe(device)
    await third.messenger.sync()
    const before = [planted, "from Node", "after the restart"]
    expect((await texts(third, id)).slice(0, 3)).toEqual(before)
    await third.messenger.send({ conversationId: id, plaintext: utf8("after the kill") })
    const all = await texts(third, id)
    expect([
      [...before, "after the kill"],
      [...before, "before the kill", "after the kill"],
    ]).toContainEqual(all)
    await ben.messenger.sync()
    expect(await textsIn(ben, id)).toEqual(all)
    await third.driver.close()

    const wrong = await start("ann", "wrong horse")
    expect((await wrong.identity.ready()).state).toMatchObject({ state: { case: "loggedOut" } })
    await wrong.driver.close()
  }, 300_000)

  test("the example signs in at the development profile, and two people write to each other", async () => {
    const program = await startProgram({ SIGNET_DATA: join(folder, "server"), PORT: "0" })
    try {
      const rootKey = /pin the root key (\S+)/.exec(program.output())?.[1] ?? ""
      const chat = async (email: string, ...more: string[]) => {
        const asked = await fetch(`${program.url}/dev/idp-a/login-request`, {
          ...{ method: "POST", body: JSON.stringify({ email }) },
        })
        const { appId, nonce, idToken } = (await asked.json()) as Record<string, string>
        const args = [appId, Buffer.from(rootKey, "base64url").toString("hex"), nonce, idToken].map(String)
        return spawn(join(programs, "chat"), [join(folder, email), program.url, ...args, ...more])
      }
      const ada = linesOf(await chat("ada@example.com"))
      const adaId = /^signed in as (prn_\S+)$/.exec(await ada.next())?.[1] ?? ""
      expect(await ada.next()).toBe("ready")
      const ben = linesOf(await chat("ben@example.com", adaId, "bye"))
      const benId = /^signed in as (prn_\S+)$/.exec(await ben.next())?.[1]
      expect(await ada.next()).toBe(`${benId}: bye`)
      expect(await ada.exited).toBe(0)
      ben.kill()
    } finally {
      await program.end("SIGTERM")
    }
  }, 300_000)
})

/** The lines of a process's output. */
function linesOf(child: ChildProcessWithoutNullStreams) {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let errors = ""
  child.stderr.on("data", (text) => {
    errors += text
  })
  const exited = new Promise<number | null>((resolve) => child.on("exit", resolve))
  return {
    exited,
    async next(): Promise<string> {
      const { value, done } = await lines.next()
      if (done) throw new Error(`the process ended: ${errors}`)
      return value
    },
    kill: () => void child.kill(),
  }
}
