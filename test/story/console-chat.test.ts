// The console's chat in Chromium: people in browsers of their own, and the rows that the server stores.
import { createHash } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { maxBytes } from "@signet/kernel/messaging/limits"
import type { Download, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { chromiumMissing } from "../support/chromium.ts"
import { attack, secretPattern } from "../support/console.ts"
import { type Chats, idOf, judge, openChats, press, unfold, write } from "../support/console-chat.ts"
import { keptBy } from "../support/console-kept.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"

const title = `the console's chat in Chromium${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const partBytes = maxBytes.attachmentPart

describe.skipIf(!isLong || chromiumMissing !== undefined)(title, () => {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-console-chat-"))
  let program: RunningProgram
  let chats: Chats
  let ada: Page
  let bob: Page
  let bobId: string
  beforeAll(async () => {
    program = await startProgram({ PORT: "0", SIGNET_DATA: folder, SIGNET_LIMITS: "off" })
    chats = await openChats(program.url, folder)
    bob = await chats.open("bob@example.com")
    bobId = await idOf(bob)
    ada = await chats.open("ada@example.com", `?with=${bobId}`)
  }, 600_000)
  afterAll(async () => {
    await chats?.close()
    await program?.end("SIGTERM")
    rmSync(folder, { recursive: true, force: true })
  })

  test("only the chat may use the camera, and WebAssembly", async () => {
    const headersOf = async (path: string) => (await fetch(`${program.url}${path}`)).headers
    const [page, console] = [await headersOf("/console/chat"), await headersOf("/console")]
    expect(page.get("permissions-policy")).toContain("camera=(self)")
    expect(console.get("permissions-policy")).toContain("camera=()")
    expect(page.get("content-security-policy")).toContain("'wasm-unsafe-eval'")
    expect(console.get("content-security-policy")).not.toContain("'wasm-unsafe-eval'")
  })

  test("two people write to each other, and markup stays text", async () => {
    await write(ada, `Hello Bob ${attack}`)
    await bob.getByText(`Hello Bob ${attack}`).waitFor()
    await write(bob, "Hello Ada")
    await ada.getByText("Hello Ada").waitFor()
    expect(await bob.locator("img").count()).toBe(0)
    expect(await bob.title()).toBe("Signet chat")
  })

  test("a file arrives, byte for byte", async () => {
    const bytes = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => i % 251))
    await bob
      .getByLabel("File", { exact: true })
      .setInputFiles({ name: "plan.bin", mimeType: "text/html", buffer: bytes })
    await bob.getByLabel("Upload").waitFor()
    const file = ada.getByRole("button", { name: "plan.bin" })
    await file.waitFor()
    const [download] = await Promise.all([ada.waitForEvent("download"), file.click()])
    expect((await bytesOf(download)).equals(bytes)).toBe(true)
  })

  test("the name of a file and the ids that a person types stay text", async () => {
    const name = "<img src=x onerror=document.title=1>.txt"
    await bob
      .getByLabel("File", { exact: true })
      .setInputFiles({ name, mimeType: "text/html", buffer: Buffer.from("x") })
    await ada.getByRole("button", { name }).waitFor()
    await press(ada, "New conversation")
    await ada.getByLabel("People", { exact: false }).fill(attack)
    await ada.locator("dialog").getByRole("button", { name: "New conversation" }).click()
    await ada.locator("dialog").getByRole("alert").waitFor()
    for (const tab of [ada, bob])
      expect([await tab.locator("img").count(), await tab.title()]).toEqual([0, "Signet chat"])
    await ada.keyboard.press("Escape")
  })

  test("an interrupted upload continues in the page with the same file, and sends no part twice", async () => {
    const bytes = Buffer.from(Array.from({ length: 3 * partBytes }, (_, i) => (i * 7) % 253))
    const chosen = { name: "film.bin", mimeType: "application/octet-stream", buffer: bytes }
    const parts = /AttachmentService\/UploadPart/
    /** A hash of each sent part: the same part has the same ciphertext. */
    const sent: string[] = []
    let isHeld = true
    const stopped = Promise.withResolvers<void>()
    const bobsBrowser = bob.context()
    await bobsBrowser.route(parts, async (route) => {
      // The second part is on its way until the person stops.
      if (isHeld && sent.length > 0) return stopped.promise.then(() => route.abort())
      const body = route.request().postDataBuffer() ?? Buffer.of()
      sent.push(createHash("sha256").update(body).digest("hex"))
      await route.continue()
    })
    await bob.getByLabel("File", { exact: true }).setInputFiles(chosen)
    await expect.poll(() => sent.length).toBe(1)
    await bob.getByRole("button", { name: "Cancel", exact: true }).click()
    stopped.resolve()
    const resume = bob.getByRole("button", { name: "Continue", exact: true })
    await bob.getByText("The upload of film.bin was interrupted.").waitFor()
    isHeld = false
    // The browser has stored which parts the server has.
    await bob.reload()
    const [chooser] = await Promise.all([bob.waitForEvent("filechooser"), resume.click()])
    await chooser.setFiles(chosen)
    const file = ada.getByRole("button", { name: "film.bin" })
    await file.waitFor()
    await bobsBrowser.unroute(parts)
    const [download] = await Promise.all([ada.waitForEvent("download"), file.click()])
    expect((await bytesOf(download)).equals(bytes)).toBe(true)
    await expect.poll(() => resume.count()).toBe(0)
    expect(sent.length).toBeGreaterThan(2)
    expect(new Set(sent).size).toBe(sent.length)
  })

  test("both see one safety number, and codes are compared by camera, by picture and as text", async () => {
    const numbers = await Promise.all([ada, bob].map((tab) => tab.getByLabel("Safety number").textContent()))
    expect(numbers[0]).toMatch(/^(\d{5} ?){12}$/)
    expect(numbers[1]).toBe(numbers[0])
    for (const tab of [ada, bob]) await unfold(tab, "Code for scanning")
    await unfold(bob, "The code as text")
    const code = (await bob.getByLabel("The code as text").textContent()) ?? ""
    expect(code).not.toBe("")
    chats.film(code)
    await press(ada, "Scan with the camera")
    await ada.getByText("Verified", { exact: true }).waitFor()
    expect(await ada.locator("video").count()).toBe(0)
    const picture = await ada.getByRole("img", { name: "Code for scanning" }).screenshot()
    await bob
      .getByLabel("Picture of the code")
      .setInputFiles({ name: "code.png", mimeType: "image/png", buffer: picture })
    await bob.getByText("Verified", { exact: true }).waitFor()
    await bob.getByLabel("The other person's code").fill(code)
    await press(bob, "Compare")
    await bob.getByText("The code is not of these keys.").waitFor()
    await bob
      .getByLabel("Picture of the code")
      .setInputFiles({ name: "none.png", mimeType: "image/png", buffer: await ada.locator(".brand").screenshot() })
    await bob.getByText("The picture has no QR code.").waitFor()
  })

  test("the rows that the server stores have no plaintext", async () => {
    await press(ada, "What the server stores")
    await expect.poll(() => ada.locator(".stored li").count()).toBeGreaterThan(5)
    const shown = await ada.locator(".chat-beside").textContent()
    expect(shown).toContain("of ciphertext")
    const hexOf = (text: string) => Buffer.from(text).toString("hex")
    for (const text of ["Hello Bob", "Hello Ada", "plan.bin"]) {
      expect(shown).not.toContain(text)
      expect(shown).not.toContain(hexOf(text))
    }
    expect(await judge(ada, "stored rows")).toEqual([])
    await press(ada, "People and keys")
  })

  test("the conversation survives a reload, and a second tab is the same device", async () => {
    await bob.reload()
    await bob.getByText("Hello Ada").waitFor()
    const second = await bob.context().newPage()
    await second.goto(`${program.url}/console/chat`)
    await second.getByText("Hello Ada").waitFor()
    await write(second, "from the second tab")
    await ada.getByText("from the second tab").waitFor()
    await bob.getByText("from the second tab").waitFor()
    await second.close()
  })

  test("without a connection messages wait in the browser, and are sent in order afterwards", async () => {
    await ada.context().setOffline(true)
    await ada.getByText("No connection.").waitFor()
    await write(ada, "first while away")
    await write(ada, "second while away")
    await expect.poll(() => ada.locator(".bubble-waiting").count()).toBe(2)
    await ada.context().setOffline(false)
    await bob.getByText("second while away").waitFor()
    const texts = await bob.locator(".bubble p:first-child").allTextContents()
    expect(texts.filter((text) => text.endsWith("while away"))).toEqual(["first while away", "second while away"])
    await expect.poll(() => ada.locator(".bubble-waiting").count()).toBe(0)
  })

  test("a group: created with several people, one is added, one removed, and one leaves", async () => {
    const cid = await chats.open("cid@example.com")
    const dee = await chats.open("dee@example.com")
    const [cidId, deeId] = [await idOf(cid), await idOf(dee)]
    await press(ada, "New conversation")
    await ada.getByLabel("People", { exact: false }).fill(`${bobId}\n${cidId}`)
    await ada.locator("dialog").getByRole("button", { name: "New conversation" }).click()
    await ada.getByRole("button", { name: "group of 3" }).waitFor()
    await write(ada, "Hello group")
    await cid.getByText("Hello group").waitFor()
    await ada.getByLabel("Add people").fill(deeId)
    await press(ada, "Add")
    await dee.getByRole("button", { name: "group of 4" }).waitFor()
    await write(dee, "Dee is here")
    await cid.getByText("Dee is here").waitFor()
    const codes = await Promise.all([ada, dee].map((tab) => tab.getByLabel("Group code").textContent()))
    expect(codes[0]).toMatch(/^(\d{5} ?){6}$/)
    expect(codes[1]).toBe(codes[0])
    expect(await judge(ada, "group")).toEqual([])

    const member = ada.locator(".person", { hasText: cidId.slice(-6) })
    await member.getByRole("button", { name: "Remove" }).click()
    await ada.getByRole("dialog").getByText("1 device").waitFor()
    await ada.getByRole("dialog").getByRole("button", { name: "Remove" }).click()
    await cid.getByText("You are no member any more.").waitFor()
    await write(ada, "without Cid")
    await dee.getByText("without Cid").waitFor()
    expect(await cid.getByText("without Cid").count()).toBe(0)

    await press(dee, "Leave the group")
    await dee.getByRole("dialog").getByText("2 other members stay.", { exact: false }).waitFor()
    await dee.getByRole("dialog").getByRole("button", { name: "Leave the group" }).click()
    await dee.getByText("You are no member any more.").waitFor()
    await ada.getByRole("button", { name: "group of 2" }).waitFor()
    await cid.context().close()
    await dee.context().close()
  })

  test("a blocked person writes to nobody here, and is heard again after the block", async () => {
    const eve = await chats.open("eve@example.com", `?with=${await idOf(ada)}`)
    await write(eve, "first words")
    const shortId = (await idOf(eve)).slice(-6)
    // The question stays open when the verification of Eve's devices arrives.
    const verified = Promise.withResolvers<void>()
    await ada.route("**/ListDeviceLists", async (route) => {
      await verified.promise
      await route.continue()
    })
    await ada.getByRole("button", { name: shortId }).click()
    // Until then the page shows the conversation before it.
    await ada.getByRole("heading", { level: 1, name: shortId }).waitFor()
    await ada.getByText("first words").waitFor()
    expect(await ada.getByLabel("Safety number").count()).toBe(0)
    await press(ada, "Block")
    const question = ada.getByRole("dialog").getByText("You have 1 conversation with them.", { exact: false })
    await question.waitFor()
    verified.resolve()
    await ada.getByLabel("Safety number").waitFor()
    await question.waitFor()
    await ada.getByRole("dialog").getByRole("button", { name: "Block" }).click()
    await ada.getByText("You have blocked this person.").waitFor()
    await ada.getByText("1 message of a blocked person hidden").waitFor()
    expect(await ada.getByText("first words").count()).toBe(0)
    await press(ada, "Unblock")
    await ada.getByText("first words").waitFor()
    await eve.context().close()
  })

  test("no page reported a violation of its policy or an error, and none shows, stores or prints a token", async () => {
    expect(chats.violations).toEqual([])
    expect(chats.errors).toEqual([])
    expect(chats.said.length).toBeGreaterThan(0)
    expect(chats.said.filter((text) => secretPattern.test(text))).toEqual([])
    for (const tab of [ada, bob]) {
      expect(await tab.content()).not.toMatch(secretPattern)
      const kept = await keptBy(tab)
      // The messenger's database is part of the search.
      expect(kept.length).toBeGreaterThan(10_000)
      expect(kept).not.toMatch(secretPattern)
    }
  })
})

async function bytesOf(download: Download): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
