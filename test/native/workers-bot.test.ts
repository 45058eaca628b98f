// The core in a Durable Object: a bot at the edge, which is the README's program.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import type { Deployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import type { Messengers } from "../support/messaging/messengers.ts"
import type { BuiltWorker } from "../support/native/workers.ts"

const folderOfHost = resolve(import.meta.dirname, "../../clients/native/workers")
const secret = (fill: number) => Buffer.alloc(32, fill).toString("base64")

/** Loaded in the long form only: they take seconds. */
const deployments = () => import("../support/edge-server.ts")
const workers = () => import("../support/native/workers.ts")

describe.runIf(isLong)("a bot in a Durable Object", () => {
  let server: Deployment
  let messengers: Messengers
  let built: BuiltWorker
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-bot-"))
    const { storyStore } = await import("../support/postgres.ts")
    const { messengersOn } = await import("../support/messaging/messengers.ts")
    built = await (await workers()).buildCoreWorker(join(folderOfHost, "examples/bot.ts"))
    server = await (await deployments()).startDeployment({ store: storyStore })
    messengers = messengersOn(server)
  }, 300_000)
  afterAll(async () => {
    await messengers?.close()
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  async function startBot(secretKey = secret(7)) {
    const worker = await (await workers()).startCoreWorker(built, {
      texts: {
        ...{ APP_ID: server.app.id, AUTH_URL: server.url, MESSAGING_URL: server.messagingUrl },
        ...{ AUDIENCE: server.audience, ROOT_KEY: Buffer.from(server.issuerRootKey).toString("base64") },
        ...{ SECRET_KEY: secretKey, OPERATOR_TOKEN: "operator" },
      },
      object: { binding: "BOT", className: "Bot" },
      persist: folder,
    })
    onTestFinished(() => worker.kill())
    return {
      ...worker,
      async ask(path: string, body: unknown = {}): Promise<Record<string, string>> {
        const answer = await worker.post(path, body, { authorization: "Bearer operator" })
        if (!answer.ok) throw new Error(await answer.text())
        return (await answer.json()) as Record<string, string>
      },
    }
  }

  test("signs in, answers a message, and after a kill continues from the object's rows", async () => {
    const { credential, nonce } = await server.login("the bot at the edge")
    const bot = await startBot()
    expect((await bot.post("/wake", {})).status).toBe(401)
    const idToken = credential?.case === "idToken" ? credential.value : ""
    const { userId = "" } = await bot.ask("/sign-in", { nonce, idToken })
    expect(userId).toMatch(/^prn_/)
    const { deviceId } = await bot.ask("/wake")
    expect(deviceId).toMatch(/^dev_/)

    const { messenger: ann } = await messengers.newcomer("ann who asks a bot")
    const { id } = await ann.createDirectConversation(userId)
    const texts = async () => {
      await ann.sync()
      return (await ann.timeline(id)).flatMap((entry) =>
        entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : [],
      )
    }
    const ask = (text: string) => ann.send(id, new TextEncoder().encode(text))
    await ask("is anybody there?")
    await bot.ask("/wake")
    await expect.poll(texts, { timeout: 30_000 }).toEqual(["is anybody there?", "You wrote: is anybody there?"])

    await bot.kill()
    await ask("and after a restart?")
    const again = await startBot()
    expect(await again.ask("/wake")).toEqual({ deviceId })
    await expect
      .poll(texts, { timeout: 30_000 })
      .toEqual([
        ...["is anybody there?", "You wrote: is anybody there?", "and after a restart?"],
        "You wrote: and after a restart?",
      ])
    await again.kill()

    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /sqlite/.test(name))
    const stored = Buffer.concat(files.map((name) => readFileSync(join(folder, name)))).toString("latin1")
    expect(stored).toContain("signet_sealed")
    expect(stored).not.toMatch(/anybody there|after a restart|eyJ[\w-]+\.eyJ/)

    const other = await startBot(secret(8))
    await expect(other.ask("/wake")).rejects.toThrow("nobody is signed in")
    await other.kill()
    // Nothing was deleted because of it.
    expect(await (await startBot()).ask("/wake")).toEqual({ deviceId })
  }, 300_000)
})
