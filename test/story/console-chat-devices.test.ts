// Further devices in the console's chat: changed keys, the history of a new browser, a backup that another one restores.
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { chromiumMissing } from "../support/chromium.ts"
import { type Chats, idOf, judge, openChats, press, unfold, write } from "../support/console-chat.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"

const title = `devices of the console's chat in Chromium${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`

describe.skipIf(!isLong || chromiumMissing !== undefined)(title, () => {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-console-devices-"))
  let program: RunningProgram
  let chats: Chats
  let ada: Page
  let bob: Page
  beforeAll(async () => {
    program = await startProgram({ PORT: "0", SIGNET_DATA: folder, SIGNET_LIMITS: "off" })
    chats = await openChats(program.url, folder)
    bob = await chats.open("bob@example.com")
    ada = await chats.open("ada@example.com", `?with=${await idOf(bob)}`)
    await write(ada, "before the new devices")
    await bob.getByText("before the new devices").waitFor()
  }, 600_000)
  afterAll(async () => {
    await chats?.close()
    await program?.end("SIGTERM")
    rmSync(folder, { recursive: true, force: true })
  })

  let phone: Page
  test("new keys of a compared person are a warning in the timeline and beside the message field", async () => {
    await press(ada, "The numbers are the same")
    await ada.getByText("Verified", { exact: true }).waitFor()
    phone = await chats.open("bob@example.com")
    await ada.getByText(/New keys of prn_/).waitFor()
    await ada.locator(".chat-warning").getByText("The keys have changed").waitFor()
    await ada.getByRole("button", { name: "Send anyway" }).waitFor()
    expect(await judge(ada, "new keys")).toEqual([])
    await ada.reload()
    await press(ada, "Compare the keys")
    await press(ada, "The numbers are the same")
    await expect.poll(() => ada.locator(".chat-warning").count()).toBe(0)
    await ada.getByRole("button", { name: "Send", exact: true }).waitFor()
  })

  test("a new browser gets the history from the old one, whose camera scans its code", async () => {
    await write(ada, "for both devices")
    await phone.getByText("for both devices").waitFor()
    expect(await phone.getByText("before the new devices").count()).toBe(0)
    for (const tab of [phone, bob]) await press(tab, "Your devices and history")
    await press(phone, "Get the history")
    await unfold(phone, "The code as text")
    await phone.getByRole("img", { name: "Scan this code with your other device" }).waitFor()
    const code = (await phone.locator("output.qr-text").textContent()) ?? ""
    chats.film(code)
    await unfold(bob, "Send the history to a new device")
    await press(bob, "Scan with the camera")
    await phone.getByText("The history is complete.").waitFor()
    expect(await judge(phone, "history")).toEqual([])
    await phone.locator(".chat-list li button").first().click()
    await phone.getByText("before the new devices").waitFor()
  })

  test("or both compare a number", async () => {
    const third = await chats.open("bob@example.com")
    await press(third, "Your devices and history")
    await press(third, "Compare numbers instead")
    await third.locator("output.safety").first().waitFor()
    const shown = await bob.locator("details output.safety").first().textContent()
    const same = third.locator("div", { has: third.locator("output.safety", { hasText: shown ?? "" }) }).last()
    await same.getByRole("button", { name: "The numbers are the same" }).click()
    await bob.locator("details").getByRole("button", { name: "The numbers are the same" }).click()
    await third.getByText("The history is complete.").waitFor()
    await third.context().close()
  })

  test("a backup shows its recovery key once, and another browser restores it", async () => {
    await press(bob, "Back up to the server")
    const key = (await bob.getByRole("dialog").getByLabel("Recovery key").textContent()) ?? ""
    expect(key).toMatch(/^([0-9A-HJKMNP-TV-Z]{4}-?){14}$/)
    await press(bob, "I have written it down")
    await bob.getByText("The backup is complete.").waitFor()
    expect(await bob.content()).not.toContain(key)
    const fresh = await chats.open("bob@example.com")
    await press(fresh, "Your devices and history")
    await unfold(fresh, "Restore a backup")
    await fresh.getByLabel("Recovery key", { exact: true }).fill(`${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`)
    await press(fresh, "Check")
    await fresh.getByText("The recovery key is mistyped.").waitFor()
    await fresh.getByLabel("Recovery key", { exact: true }).fill(key)
    await press(fresh, "Check")
    await fresh.getByText(/Backup of /).waitFor()
    await press(fresh, "Restore")
    await fresh.getByText(/entries restored/).waitFor()
    await fresh.locator(".chat-list li button").first().click()
    await fresh.getByText("before the new devices").waitFor()
    await fresh.getByText("from the history of another device or a backup").first().waitFor()
    await fresh.context().close()
    const dialog = bob.getByRole("dialog")
    const stored = bob.getByRole("button", { name: "Delete", exact: true })
    for (const answer of ["Cancel", "Delete"]) {
      await stored.first().click()
      await dialog.getByText("0 other backups stay.", { exact: false }).waitFor()
      await dialog.getByRole("button", { name: answer, exact: true }).click()
      await expect.poll(() => dialog.count()).toBe(0)
      if (answer === "Cancel") expect(await stored.count()).toBe(1)
    }
    await expect.poll(() => stored.count()).toBe(0)
  })

  test("a backup in a file has no plaintext", async () => {
    const [download] = await Promise.all([bob.waitForEvent("download"), press(bob, "Save a file")])
    await press(bob, "I have written it down")
    const bytes = readFileSync(await download.path())
    expect(bytes.length).toBeGreaterThan(500)
    expect(bytes.includes("before the new devices")).toBe(false)
  })

  test("a device that another one revoked signs in again, says so, and goes on as a new device", async () => {
    for (const tab of [phone, bob]) await press(tab, "Your devices and history")
    const own = phone.locator("li", { hasText: "This browser" }).locator(".signet-id")
    const deviceId = (await own.textContent()) ?? ""
    await bob.locator("li", { hasText: deviceId }).getByRole("button", { name: "Revoke" }).click()
    await bob.getByRole("dialog").getByText("1 device ends, in 1 conversation", { exact: false }).waitFor()
    await bob.getByRole("dialog").getByRole("button", { name: "Revoke" }).click()
    // The revocation ends the device's session, too. The provider still knows the person.
    await press(phone, "Sign in with Stand-in")
    await phone.getByText("This browser's device has ended").waitFor()
    await press(phone, "Go on as a new device")
    await phone.getByText("before the new devices").waitFor()
  })

  test("no page reported a violation of its policy or an error", () => {
    expect(chats.violations).toEqual([])
    expect(chats.errors).toEqual([])
  })
})
