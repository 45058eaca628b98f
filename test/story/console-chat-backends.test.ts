// The console's chat with two messaging backends: the Node server, and the Worker on workerd beside it.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Edge, startEdge } from "../../server/edge/node/local.ts"
import { chromiumMissing } from "../support/chromium.ts"
import { type Chats, idOf, judge, openChats, press, write } from "../support/console-chat.ts"
import { workerBundle } from "../support/edge.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"

const title = `the chat on two backends in Chromium${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`

describe.skipIf(!isLong || chromiumMissing !== undefined)(title, () => {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-console-backends-"))
  let edge: Edge
  let chats: Chats
  let ada: Page
  let bob: Page
  beforeAll(async () => {
    edge = await startEdge({ persist: join(folder, "edge"), limits: "off", bundle: await workerBundle() })
    chats = await openChats(edge.authUrl, folder)
    bob = await chats.open("bob@example.com")
    ada = await chats.open("ada@example.com", `?with=${await idOf(bob)}`)
  }, 600_000)
  afterAll(async () => {
    await chats?.close()
    await edge?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const choose = async (tab: Page, url: string) => {
    await tab.getByLabel("Messaging backend").selectOption(url)
    await tab.getByLabel("Your id").waitFor()
  }

  test("each backend has its own conversations, and the browser a device at each", async () => {
    await write(ada, "over the Node server")
    await bob.getByText("over the Node server").waitFor()
    await choose(bob, edge.url)
    await bob.getByText("No conversation yet.").waitFor()
    await choose(ada, edge.url)
    // The address of the page names Bob.
    await ada.getByRole("heading", { level: 1 }).waitFor()
    await write(ada, "over the Worker")
    await bob.getByText("over the Worker").waitFor()
    await write(bob, "an answer over the Worker")
    await ada.getByText("an answer over the Worker").waitFor()
    expect(await bob.getByText("over the Node server").count()).toBe(0)
    await press(ada, "What the server stores")
    await ada
      .locator(".chat-beside")
      .getByText(`Second backend (${new URL(edge.url).host})`)
      .waitFor()
    await expect.poll(() => ada.locator(".stored li").count()).toBeGreaterThan(4)
    expect(await ada.locator(".chat-beside").textContent()).not.toContain("over the Worker")
    expect(await judge(ada, "two backends")).toEqual([])
  })

  test("the choice survives a reload, and the way back finds what was written before", async () => {
    await bob.reload()
    await bob.getByText("over the Worker", { exact: true }).waitFor()
    for (const tab of [bob, ada]) await choose(tab, edge.authUrl)
    await bob.getByText("over the Node server").waitFor()
    await write(bob, "again over the Node server")
    await ada.getByText("again over the Node server").waitFor()
  })

  test("no page reported a violation of its policy or an error", () => {
    expect(chats.violations).toEqual([])
    expect(chats.errors).toEqual([])
  })
})
