// One conversation with a member on every platform that runs here, all open at the same time, on both backends.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, onTestFinished, test } from "vitest"
import { type Deployment, startDeployment, startEdgeServer } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { pageOrigins } from "../support/native/scenario/chromium.ts"
import type { Device, StepName } from "../support/native/scenario/client.ts"
import { scenarioPlatforms } from "../support/native/scenario/platforms.ts"
import { storyStore } from "../support/postgres.ts"

const options = { store: storyStore, settings: { allowedOrigins: pageOrigins } }
const backends = { "PostgreSQL or PGlite": startDeployment, "Durable Objects": startEdgeServer }

interface Member {
  readonly platform: string
  readonly userId: string
  step(name: StepName, ...args: string[]): Promise<unknown>
}

/** Every platform that runs here. */
async function openMembers(server: Deployment, folder: string): Promise<Member[]> {
  const devices: Device[] = []
  onTestFinished(async () => {
    for (const device of devices) await device.kill()
  })
  const running = Object.entries(scenarioPlatforms).filter(([, { why }]) => why === undefined)
  // One after the other: most builds use all cores.
  const built = []
  for (const [platform, { build }] of running)
    built.push([platform, await build((end) => onTestFinished(end))] as const)
  return Promise.all(
    built.map(async ([platform, start], i): Promise<Member> => {
      const rootKey = Buffer.from(server.issuerRootKey).toString("hex")
      const device = await start({
        ...{ folder: join(folder, String(i)), appId: server.app.id, audience: server.audience, rootKey },
        ...{ authUrl: server.url, messagingUrl: server.messagingUrl },
      })
      devices.push(device)
      const { credential, nonce = "" } = await server.login(`a user of ${platform}`)
      const userId = await device.step("signIn", [nonce, credential?.case === "idToken" ? credential.value : ""])
      await device.step("openMessenger", [])
      // Publishes key packages.
      await device.step("sync", [])
      return { platform, userId: String(userId), step: (name, ...args) => device.step(name, args) }
    }),
  )
}

async function expectTexts(members: readonly Member[], id: string, texts: readonly string[]): Promise<void> {
  const read = async ({ platform, step }: Member) => {
    await step("sync")
    return [platform, await step("read", id)]
  }
  const all = await Promise.all(members.map(read))
  expect(all).toEqual(members.map(({ platform }) => [platform, texts]))
}

describe.runIf(isLong)("one conversation of all platforms", () => {
  test.each(Object.entries(backends))(
    "%s",
    async (_, start) => {
      const folder = mkdtempSync(join(fastTmpdir(), "signet-one-conversation-"))
      const server = await start(options)
      onTestFinished(async () => {
        await server.close()
        rmSync(folder, { recursive: true, force: true })
      })
      const members = await openMembers(server, folder)
      const [first, second, ...others] = members
      if (first === undefined || second === undefined)
        throw new Error("Node and the core in WebAssembly run everywhere")
      const id = String(await first.step("createGroup", ...members.slice(1).map(({ userId }) => userId)))

      const texts = members.map(({ platform }) => `written with ${platform}, Grüße 👋`)
      for (const [i, { step }] of members.entries()) {
        await step("sync")
        await step("send", id, texts[i] ?? "")
      }
      await expectTexts(members, id, texts)

      // The last platform removes the second one, and each of the others renews its keys.
      const last = others.at(-1) ?? first
      await last.step("remove", id, second.userId)
      await second.step("sync")
      await expect(second.step("send", id, "no more")).rejects.toMatchObject({ reason: "CONVERSATION_NOT_ACTIVE" })
      const staying = [first, ...others]
      for (const { step, platform } of staying) {
        await step("sync")
        await step("renewKeys", id)
        await step("send", id, `under new keys of ${platform}`)
      }
      await expectTexts(staying, id, [...texts, ...staying.map(({ platform }) => `under new keys of ${platform}`)])
      for (const { step } of staying) {
        const users = await step("members", id)
        expect(new Set(Array.isArray(users) ? users : [])).toEqual(new Set(staying.map(({ userId }) => userId)))
      }
    },
    1_200_000,
  )
})
