// The console's chat without a server: the page opens again, shows what it has, and sends later what was written.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { chromiumMissing } from "../support/chromium.ts"
import { type Chats, idOf, openChats, write } from "../support/console-chat.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { freePort } from "../support/free-port.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"

const title = `the console's chat without a server${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`

describe.skipIf(!isLong || chromiumMissing !== undefined)(title, () => {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-console-offline-"))
  let program: RunningProgram
  let chats: Chats
  let ada: Page
  let bob: Page
  let settings: Record<string, string>
  beforeAll(async () => {
    settings = { PORT: String(await freePort()), SIGNET_DATA: folder, SIGNET_LIMITS: "off" }
    program = await startProgram(settings)
    chats = await openChats(program.url, folder)
    bob = await chats.open("bob@example.com")
    ada = await chats.open("ada@example.com", `?with=${await idOf(bob)}`)
  }, 900_000)
  afterAll(async () => {
    await chats?.close()
    await program?.end("SIGTERM")
    rmSync(folder, { recursive: true, force: true })
  })

  test("stores the files of the page and nothing else, for the chat alone", async () => {
    await ada.evaluate(() => navigator.serviceWorker.ready.then(({ scope }) => scope))
    const stored = await ada.evaluate(async () => {
      const requests = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()))
      const scopes = (await navigator.serviceWorker.getRegistrations()).map(({ scope }) => new URL(scope).pathname)
      return { scopes, paths: requests.flat().map(({ url }) => new URL(url).pathname) }
    })
    expect(stored.scopes).toEqual(["/console/chat"])
    expect(stored.paths.length).toBeGreaterThan(5)
    const others = stored.paths.filter((path) => !/^\/console\/assets\/[\w-]+-[0-9A-Z]{8}\.\w+$/.test(path))
    expect(others.toSorted()).toEqual(["/console/chat", "/console/settings.json"])
    const script = await fetch(`${program.url}/console/chat/offline.js`)
    expect(script.headers.get("service-worker-allowed")).toBe("/console/chat")
    expect(script.headers.get("content-type")).toContain("text/javascript")
  })

  test("opens again while the server is away, and sends what was written then", async () => {
    await write(ada, "before the server left")
    await bob.getByText("before the server left").waitFor()
    await program.end("SIGTERM")
    await ada.reload()
    await ada.getByText("before the server left").waitFor()
    await write(ada, "written without a server")
    await expect.poll(() => ada.locator(".bubble-waiting").count()).toBe(1)
    await ada.reload()
    await ada.getByText("written without a server").waitFor()
    // The administration has no service worker.
    const other = await ada.context().newPage()
    expect(
      await other.goto(`${program.url}/console`).then(
        () => "opened",
        () => "refused",
      ),
    ).toBe("refused")
    await other.close()

    program = await startProgram(settings)
    await bob.getByText("written without a server").waitFor()
    await expect.poll(() => ada.locator(".bubble-waiting").count()).toBe(0)
  })

  test("no page reported a violation of its policy or an error", () => {
    expect(chats.violations).toEqual([])
    expect(chats.errors).toEqual([])
  })
})
