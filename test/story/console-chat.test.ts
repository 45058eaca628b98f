// The console's chat in Chromium: two people in two browsers, and the rows that the server stores.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { chromiumMissing, launchChromium } from "../support/chromium.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"

const title = `the console's chat in Chromium${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const attack = `<img src=x onerror="document.title='xss'">`

describe.skipIf(!isLong || chromiumMissing !== undefined)(title, () => {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-console-chat-"))
  const violations: string[] = []
  const errors: string[] = []
  let program: RunningProgram
  let browser: Browser
  let ada: Page
  let bob: Page
  let bobId: string
  beforeAll(async () => {
    program = await startProgram({ PORT: "0", SIGNET_DATA: folder, SIGNET_LIMITS: "off" })
    browser = await launchChromium()
    bob = await open("bob@example.com", "")
    bobId = (await bob.getByLabel("Your id").textContent()) ?? ""
    ada = await open("ada@example.com", `?with=${bobId}`)
  })
  afterAll(async () => {
    await browser?.close()
    await program?.end("SIGTERM")
    rmSync(folder, { recursive: true, force: true })
  })

  async function open(email: string, query: string): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    context.setDefaultTimeout(45_000)
    const tab = await context.newPage()
    tab.on("pageerror", (error) => errors.push(error.message))
    tab.on("console", (message) => {
      if (message.text().includes("Content Security Policy")) violations.push(message.text())
    })
    await tab.goto(`${program.url}/console/chat${query}`)
    await tab.getByRole("button", { name: "Sign in with Stand-in" }).click()
    await tab.waitForURL(/\/dev\/idp-a\/sign-in\//)
    await tab.fill("input[name=email]", email)
    await tab.click("button")
    await tab.getByLabel("Your id").waitFor()
    return tab
  }
  async function write(tab: Page, text: string): Promise<void> {
    await tab.getByLabel("Message", { exact: true }).fill(text)
    await tab.getByRole("button", { name: "Send", exact: true }).click()
  }

  test("two people write to each other, and markup stays text", async () => {
    await write(ada, `Hello Bob ${attack}`)
    await bob.getByText(`Hello Bob ${attack}`).waitFor()
    await write(bob, "Hello Ada")
    await ada.getByText("Hello Ada").waitFor()
    expect(await bob.locator("img").count()).toBe(0)
    expect(await bob.title()).toBe("Signet chat")
  })

  test("a file arrives, byte for byte", async () => {
    const bytes = Buffer.from(Array.from({ length: 120_000 }, (_, i) => i % 251))
    await bob.setInputFiles("input[type=file]", { name: "plan.bin", mimeType: "text/html", buffer: bytes })
    const file = ada.getByRole("button", { name: "plan.bin" })
    await file.waitFor()
    const [download] = await Promise.all([ada.waitForEvent("download"), file.click()])
    const chunks: Buffer[] = []
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer)
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true)
  })

  test("both see one safety number, and a scanned code marks the keys as compared", async () => {
    const numbers = await Promise.all([ada, bob].map((tab) => tab.getByLabel("Safety number").textContent()))
    expect(numbers[0]).toMatch(/^(\d{5} ?){12}$/)
    expect(numbers[1]).toBe(numbers[0])
    for (const tab of [ada, bob]) await tab.getByText("Code for scanning").click()
    const code = (await bob.getByLabel("Code for scanning").textContent()) ?? ""
    await ada.getByLabel("The other person's code").fill(code)
    await ada.getByRole("button", { name: "Compare", exact: true }).click()
    await ada.getByText("Verified", { exact: true }).waitFor()
    await bob.getByLabel("The other person's code").fill(code)
    await bob.getByRole("button", { name: "Compare", exact: true }).click()
    await bob.getByText("The code is not of these keys.").waitFor()
  })

  test("the rows that the server stores have no plaintext", async () => {
    await ada.getByRole("button", { name: "What the server stores" }).click()
    await expect.poll(() => ada.locator(".stored li").count()).toBeGreaterThan(3)
    const shown = await ada.locator(".stored").textContent()
    const hexOf = (text: string) => Buffer.from(text).toString("hex")
    for (const text of ["Hello Bob", "Hello Ada", "plan.bin"]) {
      expect(shown).not.toContain(text)
      expect(shown).not.toContain(hexOf(text))
    }
  })

  test("the conversation survives a reload", async () => {
    await bob.reload()
    await bob.getByText("Hello Ada").waitFor()
    await write(bob, "after the reload")
    await ada.getByText("after the reload").waitFor()
  })

  test("a new device of a compared person is a warning", async () => {
    const again = await open("bob@example.com", "")
    await ada.getByText(/New keys of prn_/).waitFor()
    await ada.getByRole("alert").getByText("The keys have changed").first().waitFor()
    await again.context().close()
  })

  test("no page reported a violation of its policy or an error", () => {
    expect(violations).toEqual([])
    expect(errors).toEqual([])
  })
})
