// The console in Chromium against `npm start`: administration, the reasons of denials, and the security of its pages.
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { buildConsole } from "../../scripts/console/build.ts"
import { developmentAppId } from "../../server/development/app-id.ts"
import { chromiumMissing, launchChromium } from "../support/chromium.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"

const title = `the console in Chromium${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
/** A name that would run if a page took it for markup. */
const attack = `<img src=x onerror="document.title='xss'">`
/** Access tokens, refresh tokens, personal access tokens, secrets and invitations. */
const secretPattern = /eyJ[\w-]+\.eyJ|sg(rt|pat|sec|inv)_\w/

describe.skipIf(chromiumMissing !== undefined)(title, () => {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-console-"))
  const watched = watchPages()
  let program: RunningProgram
  let browser: Browser
  let context: BrowserContext
  let tab: Page
  beforeAll(async () => {
    program = await startProgram({ PORT: "0", SIGNET_DATA: folder, SIGNET_LIMITS: "off" })
    browser = await launchChromium()
    context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    context.setDefaultTimeout(30_000)
    tab = await watched.open(context, `${program.url}/console`)
  })
  afterAll(async () => {
    await browser?.close()
    await program?.end("SIGTERM")
    rmSync(folder, { recursive: true, force: true })
  })

  const go = (path: string) => tab.goto(`${program.url}/console${path}`)
  const press = (name: string) => tab.getByRole("button", { name, exact: true }).first().click()
  const heading = (name: string) => tab.getByRole("heading", { name, exact: true }).first().waitFor()
  const fill = (label: string, text: string) => tab.getByLabel(label, { exact: true }).first().fill(text)

  test("an administrator signs in with the stand-in provider", async () => {
    await signIn(tab, "ada@example.com", attack)
    await heading("Overview")
    await tab.getByRole("link", { name: "People" }).waitFor()
    expect(new URL(tab.url()).pathname).toBe("/console")
  })

  test("finds a person by address, and opens the page of the person", async () => {
    await tab.getByLabel("Search for a person or an id").fill("ada@example.com")
    await tab.keyboard.press("Enter")
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

  test("explains why a call was denied, from the audit and for a token", async () => {
    const denied = await fetch(`${program.url}/auth/apps`, {
      headers: { authorization: `Bearer ${await memberToken()}` },
    })
    expect(denied.status).toBe(403)
    await go("/audit?outcome=DENIED")
    await tab.getByRole("link", { name: "Why?", exact: true }).nth(1).click()
    await tab.getByText("decided here").waitFor()
    await tab.getByText("MISSING_SCOPE").first().waitFor()
    await tab.getByText("scope auth.apps.read").first().waitFor()

    await go("/why")
    await tab.getByLabel("Access token").fill(await memberToken())
    await press("Explain")
    await tab.getByText("Denied.").waitFor()
    await tab.getByText("scope(auth.apps.read)").first().waitFor()
    expect(await tab.getByLabel("Access token").inputValue()).toBe("")
    // The administrator's own token is allowed.
    await press("Explain")
    await tab.getByText("Allowed.").waitFor()
  })

  test.runIf(isLong)("refuses to overwrite a concurrent change, and saves only the changed fields", async () => {
    const person = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    person.setDefaultTimeout(30_000)
    const page = await watched.open(person, `${program.url}/console`)
    await page.getByLabel("Administer").selectOption("installation")
    await expect.poll(() => page.getByLabel("Administer").inputValue()).toBe("installation")
    await signIn(page, "grace@example.com", "Grace")
    await page.getByRole("link", { name: "Apps", exact: true }).click()
    await page.getByRole("button", { name: "Create app" }).click()
    await page.getByRole("dialog").getByLabel("Name").fill("Garden")
    await page.getByRole("dialog").getByRole("button", { name: "Create app" }).click()
    await page.waitForURL(/\/apps\/app_/)
    const name = page.getByLabel("Name", { exact: true })
    await name.waitFor()
    const other = await watched.open(person, page.url())
    await other.getByLabel("Name", { exact: true }).fill("Garden of others")
    await other.getByRole("button", { name: "Save" }).click()
    await other.getByText("Saved.").waitFor()
    await name.fill("Garden of mine")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByText("Somebody else has changed this since you opened it.").waitFor()
    await page.getByRole("cell", { name: "Garden of others" }).waitFor()
    expect(await name.inputValue()).toBe("Garden of mine")
    await page.getByRole("button", { name: "Load the current state" }).click()
    await expect.poll(() => name.inputValue()).toBe("Garden of others")
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true)

    // An administrator of the installation sees the person's identity, and locks it for a time.
    await page.getByLabel("Search for a person or an id").fill("ada@example.com")
    await page.keyboard.press("Enter")
    await page.getByRole("link", { name: attack }).click()
    await page.getByRole("button", { name: "Lock", exact: true }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Lock", exact: true }).click()
    await page.getByText("Locked", { exact: true }).waitFor()
    await page.getByRole("button", { name: "Unlock" }).click()
    await page.getByRole("button", { name: "Lock", exact: true }).waitFor()
    await person.close()
  })

  test.runIf(isLong)("revokes a session of the own account, after it asked", async () => {
    const second = await browser.newContext()
    const there = await watched.open(second, `${program.url}/console`)
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

  test.runIf(isLong)("shows the sessions of a member, and revokes all after it has counted them", async () => {
    const second = await browser.newContext()
    const there = await watched.open(second, `${program.url}/console`)
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

  test.runIf(isLong)(
    "draws sign-ins, denials by reason and tokens by grant, with their numbers as tables",
    async () => {
      await fetch(`${program.url}/auth/apps`, { headers: { authorization: `Bearer ${await memberToken()}` } })
      await go("/activity")
      await tab.getByRole("img", { name: "Sign-ins" }).waitFor()
      await tab.getByRole("rowheader", { name: "MISSING_SCOPE", exact: false }).waitFor()
      await tab.getByRole("rowheader", { name: "Sign-in", exact: true }).waitFor()
      expect(await tab.locator("rect.bar-0").count()).toBeGreaterThan(0)
    },
  )

  const screens = ["", "/people?find=ada@example.com", "/apps", "/services", "/delegations", "/audit", "/why", "/keys"]
  const more = [
    "/health",
    "/activity",
    "/account",
    ...["members", "roles", "connections", "tenants"].map((one) => `/apps/${developmentAppId}/${one}`),
  ]
  test.each(isLong ? [...screens, ...more] : screens.slice(0, 1))(
    "the screen %s passes axe in light and dark, and fits 360 pixels",
    async (path) => {
      await go(path)
      await tab.getByRole("heading", { level: 1 }).waitFor()
      await expect.poll(() => tab.locator(".signet-loading").count()).toBe(0)
      // As the debugger does, which the page's policy does not concern.
      await tab.evaluate(axe)
      for (const colorScheme of ["light", "dark"] as const) {
        await tab.emulateMedia({ colorScheme, reducedMotion: "reduce" })
        expect([colorScheme, ...(await axeFindings(tab))]).toEqual([colorScheme])
      }
      await tab.setViewportSize({ width: 360, height: 740 })
      expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
      await tab.setViewportSize({ width: 1280, height: 800 })
    },
  )

  test.runIf(isLong)(
    "a member without administrative scopes sees no administration, and the service refuses",
    async () => {
      const person = await browser.newContext()
      const page = await watched.open(person, `${program.url}/console`)
      await page.getByLabel("Sign in as").selectOption("member")
      await signIn(page, "mallory@example.com", "Mallory")
      await page.getByText("Your membership has no administrative scope").waitFor()
      expect(await page.getByRole("link", { name: "Audit" }).count()).toBe(0)
      await page.goto(`${program.url}/console/audit`)
      await page.getByText("Your membership does not have the scope").waitFor()
      await person.close()
    },
  )

  test("no page reported a violation of its policy, an error, or a secret", async () => {
    expect(watched.violations).toEqual([])
    expect(watched.errors).toEqual([])
    expect(watched.said.filter((text) => secretPattern.test(text))).toEqual([])
    expect(watched.addresses.filter((address) => secretPattern.test(address))).toEqual([])
    const kept = await tab.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]))
    expect(kept).not.toMatch(secretPattern)
    expect(await tab.content()).not.toMatch(secretPattern)
    // The watch sees violations: a script that was injected into the page does not run, and is reported.
    await tab.evaluate(() => {
      const script = document.createElement("script")
      script.textContent = "document.title = 'ran'"
      document.head.append(script)
    })
    await expect.poll(() => watched.violations.length).toBeGreaterThan(0)
    expect(await tab.title()).not.toBe("ran")
  })

  test("no other page can frame the console, and no script runs from elsewhere", async () => {
    for (const path of ["/console", "/console/chat", "/console/people/x"]) {
      const { headers, status } = await fetch(program.url + path)
      const policy = headers.get("content-security-policy") ?? ""
      expect([path, status]).toEqual([path, 200])
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).toMatch(/script-src 'self'( 'wasm-unsafe-eval')?;/)
      expect(policy).not.toContain("unsafe-inline")
    }
    const missing = await fetch(`${program.url}/console/assets/..%2f..%2fpackage.json`)
    expect(missing.status).toBe(404)
  })

  /** An access token of a person without administrative scopes. */
  async function memberToken(): Promise<string> {
    const json = { "content-type": "application/json" }
    const request = JSON.stringify({ email: "bob@example.com" })
    const login = await fetch(`${program.url}/dev/idp-a/login-request`, {
      method: "POST",
      headers: json,
      body: request,
    })
    const answer = await fetch(`${program.url}/auth/login/idp-a`, {
      method: "POST",
      headers: json,
      body: await login.text(),
    })
    return ((await answer.json()) as { accessToken: string }).accessToken
  }
})

test("the first page loads at most 160 KB, compressed", async () => {
  const files = await buildConsole()
  const page = new TextDecoder().decode(files.get("index.html"))
  const first = [...files].filter(([name]) => page.includes(name))
  expect(first.length).toBeGreaterThan(2)
  const bytes = first.reduce((sum, [, content]) => sum + gzipSync(content).length, 0)
  expect(bytes).toBeLessThan(160_000)
  expect(page).not.toMatch(/<script(?![^>]* src=)|style=|https?:/)
})

/** Signs in as an administrator, or as what the page has chosen. */
async function signIn(page: Page, email: string, name: string): Promise<void> {
  await page.getByRole("button", { name: "Sign in with Stand-in" }).click()
  await page.waitForURL(/\/dev\/idp-a\/sign-in\//)
  await page.fill("input[name=email]", email)
  await page.fill("input[name=name]", name)
  await page.click("button")
  await page.waitForURL(/\/console/)
}

/** Collects what pages report: violations of the policy, errors, console output, addresses. */
function watchPages() {
  const found = { violations: [] as string[], errors: [] as string[], said: [] as string[], addresses: [] as string[] }
  return {
    ...found,
    async open(context: BrowserContext, address: string): Promise<Page> {
      const page = await context.newPage()
      await page.addInitScript(() => {
        addEventListener("securitypolicyviolation", (event) => console.error(`CSP ${event.violatedDirective}`))
      })
      page.on("console", (message) => {
        const text = message.text()
        found.said.push(text)
        if (text.startsWith("CSP ") || text.includes("Content Security Policy")) found.violations.push(text)
      })
      page.on("pageerror", (error) => found.errors.push(error.message))
      page.on("framenavigated", (frame) => found.addresses.push(frame.url()))
      await page.goto(address)
      return page
    },
  }
}

/** Serious and critical findings of axe-core for WCAG 2.2 AA. */
async function axeFindings(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<{ violations: Finding[] }> } }
    interface Finding {
      readonly id: string
      readonly impact: string
      readonly nodes: readonly { readonly html: string }[]
    }
    const values = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
    const { violations } = await axe.run({ runOnly: { type: "tag", values } })
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 160)}`)
  })
}
