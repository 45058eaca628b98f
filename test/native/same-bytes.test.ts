// The same seed and the same clock give the same bytes on each platform: requests with their ciphertext, and stored rows.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type Messengers, messengersOn } from "../support/messaging/messengers.ts"
import { whyNoLibrary } from "../support/native/library.ts"
import {
  openDirect,
  openInLibrary,
  openInWasm,
  type SameClient,
  type SameOptions,
} from "../support/native/same-bytes/clients.ts"
import { type Recorder, startRecorder } from "../support/native/same-bytes/recorder.ts"
import { storyStore } from "../support/postgres.ts"

/** The request bodies, store transactions and received texts of a client. */
interface Written {
  readonly requests: readonly string[]
  readonly transactions: readonly string[]
  readonly texts: readonly string[]
}

describe.runIf(isLong)("the same bytes on each platform", () => {
  let server: Deployment
  let messengers: Messengers
  let recorder: Recorder
  let folder: string
  let options: SameOptions
  let first: Written
  let peerId: string
  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-same-"))
    server = await startDeployment({ store: storyStore })
    messengers = messengersOn(server)
    recorder = await startRecorder(server.messagingUrl)
    const subject = "ann with equal bytes"
    options = {
      ...{ folder, appId: server.app.id, authUrl: server.url, messagingUrl: recorder.url, audience: server.audience },
      ...{ rootKey: Buffer.from(server.issuerRootKey).toString("hex"), seed: 20261128, nowMs: Date.now() },
      person: await server.person(subject),
      async login() {
        const { credential, nonce = "" } = await server.login(subject)
        return { nonce, idToken: credential?.case === "idToken" ? credential.value : "" }
      },
    }
    const ben = await messengers.newcomer("ben with equal bytes")
    peerId = ben.person.userId
    first = await play(openDirect, options, async (id) => {
      await ben.messenger.sync()
      await ben.messenger.send(id, new TextEncoder().encode("an answer"))
    })
    recorder.replay()
  }, 600_000)
  afterAll(async () => {
    await recorder?.close()
    await messengers?.close()
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** @param beside What the peer does in between. In a replay it has done so. */
  async function play(
    open: (options: SameOptions) => Promise<SameClient>,
    given: SameOptions,
    beside: (id: string) => Promise<void> = async () => undefined,
  ): Promise<Written> {
    const { client, transactions, close } = await open(given)
    try {
      await client.sync()
      const id = await client.createDirect(peerId)
      await client.send(id, "the first message")
      await client.send(id, "the second message")
      await beside(id)
      await client.sync()
      await client.renewKeys(id)
      const texts = await client.read(id)
      return { requests: [...recorder.requests], transactions: [...transactions], texts }
    } catch (error) {
      throw recorder.unknown.length === 0
        ? error
        : new Error(JSON.stringify(recorder.unknown, null, 1), { cause: error })
    } finally {
      await close()
    }
  }

  test("the story has a commit, messages both ways, and rows", () => {
    expect(first.texts).toEqual(["the first message", "the second message", "an answer"])
    const appended = first.requests.filter((one) => one.includes("/AppendMessage "))
    expect(appended.length).toBeGreaterThanOrEqual(3)
    expect(first.transactions.length).toBeGreaterThan(10)
  })

  test("the core in WebAssembly", async () => {
    recorder.replay()
    expect(await play(openInWasm, { ...options, folder: join(folder, "wasm") })).toEqual(first)
  }, 300_000)

  test.skipIf(whyNoLibrary !== undefined)(
    whyNoLibrary ?? "libsignet",
    async () => {
      recorder.replay()
      expect(await play(openInLibrary, { ...options, folder: join(folder, "library") })).toEqual(first)
    },
    300_000,
  )

  test("another seed gives other bytes", async () => {
    recorder.replay()
    const other = play(openInWasm, { ...options, folder: join(folder, "other"), seed: 1 })
    await expect(other).rejects.toThrow("the service did not answer")
    expect(recorder.unknown.map(({ path }) => path)).toContain("/signet.messaging.v1.DeviceService/RegisterDevice")
  }, 300_000)
})
