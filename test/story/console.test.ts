// The console in Chromium against `npm start`: administration, the reasons of denials, and the security of its pages.
import { gzipSync } from "node:zlib"
import type { BrowserContext } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { buildConsole } from "../../scripts/console/build.ts"
import { chromiumMissing } from "../support/chromium.ts"
import { attack, type ConsoleStory, openConsole, openInstallation, secretPattern, signIn } from "../support/console.ts"
import { isLong } from "../support/effort.ts"

const title = `the console in Chromium${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`

describe.skipIf(chromiumMissing !== undefined || !isLong)(title, () => {
  let story: ConsoleStory
  let tab: ConsoleStory["tab"]
  beforeAll(async () => {
    story = await openConsole()
    tab = story.tab
  })
  afterAll(() => story?.close())

  const go = (path: string) => story.go(path)
  const press = (name: string) => story.press(name)
  const heading = (name: string) => story.heading(name)
  const fill = (label: string, text: string) => story.fill(label, text)
  const memberToken = () => story.memberToken()
  const newContext = () => story.browser.newContext({ viewport: { width: 1280, height: 800 } })
  const open = (context: BrowserContext) => story.watched.open(context, `${story.program.url}/console`)

  test("an administrator signs in with the stand-in provider", async () => {
    await signIn(tab, "ada@example.com", attack)
    await heading("Overview")
    await tab.getByRole("link", { name: "People" }).waitFor()
    expect(new URL(tab.url()).pathname).toBe("/console")
  })

  test("finds a person by address, and opens the page of the person", async () => {
    await tab.getByLabel("Search for a person or an id").fill("ada@example.com")
    await tab.getByLabel("Search for a person or an id").press("Enter")
    await tab.getByRole("link", { name: attack }).click()
    await heading("Memberships")
    expect(tab.url()).toMatch(/\/console\/people\/prn_/)
    // The name is text, wherever it is shown.
    expect(await tab.title()).not.toBe("xss")
    expect(await tab.locator("img").count()).toBe(0)
  })

  test("creates a service account and shows its secret once", async () => {
    await go("/services")
    await press("Create service account")
    await fill("Name", attack)
    await tab.getByLabel("Calls audiences").fill("svc-notes")
    await tab.getByLabel("Scopes", { exact: false }).last().fill("notes.read")
    await tab.getByRole("dialog").getByRole("button", { name: "Create service account" }).click()
    await heading(attack)
    await press("Add secret")
    const secret = await tab.getByRole("dialog").getByLabel("Client secret").textContent()
    expect(secret).toMatch(/^sgsec_/)
    await press("Close")
    await tab.reload()
    await tab.getByText(`…${secret?.slice(-4)}`).waitFor()
    expect(await tab.content()).not.toContain(secret)
  })

  test("filters the audit, and verifies its chain in the browser", async () => {
    await go("/audit")
    await fill("Kinds", "service_account.created")
    await press("Filter")
    await expect.poll(() => tab.url()).toContain("kinds=service_account.created")
    await expect.poll(() => tab.locator("tbody tr").count()).toBe(1)
    await press("Verify the chain in this browser")
    await tab.getByText("The chain is whole.").waitFor()
  })

  test("shows that a verification runs, and cancels it", async () => {
    await go("/audit")
    const links = /AuditService\/ListAuditLinks/
    // Never answered.
    await tab.route(links, () => {})
    await press("Verify the chain in this browser")
    await tab.locator("main").getByRole("button", { name: "Cancel", exact: true }).click()
    await tab.getByText("The action was canceled.").waitFor()
    expect(await tab.getByText("The chain is whole.").count()).toBe(0)
    await tab.unroute(links)
    await press("Verify the chain in this browser")
    await tab.getByText("The chain is whole.").waitFor()
    expect(await tab.getByText("The action was canceled.").count()).toBe(0)
  })

  test("a list without an answer says that the service does not answer, and is read again", async () => {
    const events = /AuditService\/ListAuditEvents/
    await tab.route(events, (route) => route.abort())
    await go("/audit")
    await tab.getByText("The service does not answer.").waitFor()
    expect(await tab.getByText("No event matches.").count()).toBe(0)
    await tab.unroute(events)
    await press("Try again")
    await tab.getByText("service_account.created").first().waitFor()
  })

  test("explains why a call was denied, from the audit and for a token", async () => {
    const denied = await fetch(`${story.program.url}/auth/apps`, {
      headers: { authorization: `Bearer ${await memberToken()}` },
    })
    expect(denied.status).toBe(403)
    await go("/audit?outcome=DENIED")
    await tab.getByRole("link", { name: "Why?", exact: true }).nth(1).click()
    await tab.getByText("decided here").waitFor()
    await tab.getByText("MISSING_SCOPE").first().waitFor()
    await tab.getByText("The call requires scope(auth.apps.read).").waitFor()
    await tab.getByText("The caller lacked auth.apps.read.").waitFor()
    // A step that passed has its fact, and one that was not reached has none.
    await tab.getByText(/^The token of prn_\w+ verifies\.$/).waitFor()
    expect(await tab.getByText("No service acts for another caller.").count()).toBe(0)

    await go("/why")
    await tab.getByLabel("Access token").fill(await memberToken())
    await press("Explain")
    await tab.getByText("Denied.").waitFor()
    await tab.getByText("scope(auth.apps.read)").first().waitFor()
    await tab.getByText("the caller is a USER").first().waitFor()
    expect(await tab.getByLabel("Access token").inputValue()).toBe("")
    // The administrator's own token is allowed.
    await press("Explain")
    await tab.getByText("Allowed.").waitFor()
    await tab.getByText("the call has no actor").waitFor()
  })

  test("refuses to overwrite a concurrent change, and saves only the changed fields", async () => {
    const page = await openInstallation(story)
    const person = page.context()
    await page.getByRole("link", { name: "Apps", exact: true }).click()
    await page.getByRole("button", { name: "Create app" }).click()
    await page.getByRole("dialog").getByLabel("Name").fill("Garden")
    await page.getByRole("dialog").getByRole("button", { name: "Create app" }).click()
    await page.waitForURL(/\/apps\/app_/)
    const name = page.getByLabel("Name", { exact: true })
    await name.waitFor()
    const other = await story.watched.open(person, page.url())
    await other.getByLabel("Name", { exact: true }).fill("Garden of others")
    await other.getByRole("button", { name: "Save" }).click()
    await other.getByText("Saved.").waitFor()
    await name.fill("Garden of mine")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByText("Somebody else has changed this since you opened it.").waitFor()
    await page.getByRole("row", { name: "Name Garden Garden of others", exact: true }).waitFor()
    expect(await name.inputValue()).toBe("Garden of mine")
    await page.getByRole("button", { name: "Load the current state" }).click()
    await expect.poll(() => name.inputValue()).toBe("Garden of others")
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true)

    // An administrator of the installation sees the person's identity, and locks it for a time.
    await page.getByLabel("Search for a person or an id").fill("ada@example.com")
    await page.getByLabel("Search for a person or an id").press("Enter")
    await page.getByRole("link", { name: attack }).click()
    await page.getByRole("button", { name: "Lock", exact: true }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Lock", exact: true }).click()
    await page.getByText("Locked", { exact: true }).waitFor()
    await page.getByRole("button", { name: "Unlock" }).click()
    await page.getByRole("button", { name: "Lock", exact: true }).waitFor()
    await person.close()
  })

  test("revokes a session of the own account, after it asked", async () => {
    const second = await newContext()
    const there = await open(second)
    await signIn(there, "ada@example.com", "Ada")
    await there.getByRole("heading", { name: "Overview" }).waitFor()
    await go("/account")
    await expect.poll(() => tab.getByRole("button", { name: "End session" }).count()).toBe(2)
    await tab
      .getByRole("row")
      .filter({ hasNotText: "this device" })
      .getByRole("button", { name: "End session" })
      .click()
    await tab.getByRole("dialog").getByRole("button", { name: "End session" }).click()
    await expect.poll(() => tab.getByRole("button", { name: "End session" }).count()).toBe(1)
    await there.reload()
    await there.getByRole("button", { name: "Sign in with Stand-in" }).waitFor()
    await second.close()
  })

  test("shows the sessions of a member, and revokes all after it has counted them", async () => {
    const second = await newContext()
    const there = await open(second)
    await signIn(there, "barbara@example.com", attack)
    await there.getByRole("heading", { name: "Overview" }).waitFor()
    await go("/people?find=barbara@example.com")
    await tab.getByRole("link", { name: attack }).click()
    await tab.getByRole("rowheader", { name: "Signet console" }).waitFor()
    await press("Revoke all")
    await tab.getByText("1 session ends where you administer.").waitFor()
    await tab.getByRole("dialog").getByRole("button", { name: "Revoke all" }).click()
    await tab.getByText("No active session where you administer.").waitFor()
    await there.reload()
    await there.getByRole("button", { name: "Sign in with Stand-in" }).waitFor()
    await second.close()
  })

  test("draws sign-ins, denials by reason and tokens by grant, with their numbers as tables", async () => {
    await fetch(`${story.program.url}/auth/apps`, { headers: { authorization: `Bearer ${await memberToken()}` } })
    await go("/activity")
    await tab.getByRole("img", { name: "Sign-ins" }).waitFor()
    await tab.getByRole("rowheader", { name: "MISSING_SCOPE", exact: false }).waitFor()
    await tab.getByRole("rowheader", { name: "Sign-in", exact: true }).waitFor()
    expect(await tab.locator("rect.bar-0").count()).toBeGreaterThan(0)
  })

  test("a member without administrative scopes sees no administration, and the service refuses", async () => {
    const person = await newContext()
    const page = await open(person)
    await page.getByLabel("Sign in as").selectOption("member")
    await signIn(page, "mallory@example.com", "Mallory")
    await page.getByText("Your membership has no administrative scope").waitFor()
    expect(await page.getByRole("link", { name: "Audit" }).count()).toBe(0)
    await page.goto(`${story.program.url}/console/audit`)
    await page.getByText("Your membership does not have the scope").waitFor()
    await person.close()
  })

  test("no page reported a violation of its policy, an error, or a secret", async () => {
    expect(story.watched.violations).toEqual([])
    expect(story.watched.errors).toEqual([])
    expect(story.watched.said.filter((text) => secretPattern.test(text))).toEqual([])
    expect(story.watched.addresses.filter((address) => secretPattern.test(address))).toEqual([])
    const kept = await tab.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]))
    expect(kept).not.toMatch(secretPattern)
    expect(await tab.content()).not.toMatch(secretPattern)
    // The watch sees violations: a script that was injected into the page does not run, and is reported.
    await tab.evaluate(() => {
      const script = document.createElement("script")
      script.textContent = "document.title = 'ran'"
      document.head.append(script)
    })
    await expect.poll(() => story.watched.violations.length).toBeGreaterThan(0)
    expect(await tab.title()).not.toBe("ran")
  })

  test("no other page can frame the console, and no script runs from elsewhere", async () => {
    for (const path of ["/console", "/console/chat", "/console/people/x"]) {
      const { headers, status } = await fetch(story.program.url + path)
      const policy = headers.get("content-security-policy") ?? ""
      expect([path, status]).toEqual([path, 200])
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).toMatch(/script-src 'self'( 'wasm-unsafe-eval')?;/)
      expect(policy).not.toContain("unsafe-inline")
    }
    const missing = await fetch(`${story.program.url}/console/assets/..%2f..%2fpackage.json`)
    expect(missing.status).toBe(404)
  })
})

test.runIf(isLong)("the first page loads at most 160 KB, compressed", async () => {
  const files = await buildConsole()
  const page = new TextDecoder().decode(files.get("index.html"))
  const first = [...files].filter(([name]) => page.includes(name))
  expect(first.length).toBeGreaterThan(2)
  const bytes = first.reduce((sum, [, content]) => sum + gzipSync(content).length, 0)
  expect(bytes).toBeLessThan(160_000)
  expect(page).not.toMatch(/<script(?![^>]* src=)|style=|https?:/)
})
