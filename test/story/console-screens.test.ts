// Every screen of the console in Chromium, its dialogs and its sign-in: axe in light and dark, and the width of a phone.
import { AuditEvent_Outcome } from "@signet/proto/auth/v1/audit_service"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import { chromiumMissing } from "../support/chromium.ts"
import {
  administratorOf,
  axeFindings,
  type ConsoleStory,
  openConsole,
  openInstallation,
  screenshot,
  signIn,
} from "../support/console.ts"
import { fillApp } from "../support/console-filled.ts"
import { isLong } from "../support/effort.ts"

const title = `the screens of the console${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const screens = [
  "",
  "/people?find=ada@example.com",
  "/people/{person}",
  "/apps",
  ...["", "/members", "/roles", "/connections", "/tenants", "/contexts", "/invitations", "/permissions", "/grants"].map(
    (part) => `/apps/{app}${part}`,
  ),
  "/apps/{app}/members/{tenant}",
  "/tenants/{tenant}",
  "/services",
  "/services/{service}",
  "/delegations",
  "/activity",
  "/audit",
  "/why",
  "/why?event={event}",
  "/limits",
  "/keys",
  "/health",
  "/account",
  "/components",
  "/nowhere",
]

/** Dialogs that fill something in. Those that end something are in console-counts.test.ts. */
const dialogs: readonly (readonly [path: string, button: string])[] = [
  ["/apps/{app}/connections", "Add connection"],
  ["/apps/{app}/connections", "Edit"],
  ["/apps/{app}/tenants", "Create tenant"],
  ["/apps/{app}/tenants", "Edit"],
  ["/apps/{app}/contexts", "Create context"],
  ["/apps/{app}/members", "Invite"],
  ["/apps/{app}/members", "Edit"],
  ["/apps/{app}/roles", "Create role"],
  ["/apps/{app}/roles", "Edit"],
  ["/apps/{app}/grants", "Grant a role"],
  ["/services", "Create service account"],
  // Its dialog shows the secret.
  ["/services/{service}", "Add secret"],
  ["/account", "Create token"],
]

describe.skipIf(chromiumMissing !== undefined || !isLong)(title, () => {
  let story: ConsoleStory
  let ids: Record<string, string>
  beforeAll(async () => {
    story = await openConsole()
    const { url } = story.program
    const administrator = await administratorOf(url)
    const { tenantId, serviceId, memberId } = await fillApp(administrator, url)
    await fetch(`${url}/auth/apps`, { headers: { authorization: `Bearer ${await story.memberToken()}` } })
    const denied = { outcome: AuditEvent_Outcome.DENIED }
    const { auditEvents } = await administrator.clients.audit.listAuditEvents(denied, await administrator.root())
    const event = auditEvents[0]?.id ?? ""
    ids = { app: developmentAppId, person: memberId, tenant: tenantId, service: serviceId, event }
    await signIn(story.tab, "ada@example.com", "Ada")
    await story.heading("Overview")
  }, 600_000)
  afterAll(() => story?.close())

  const named = (path: string) => path.replaceAll(/\{(\w+)\}/g, (_, name) => ids[name] ?? expect.fail(name))
  /** Findings of axe in both themes. */
  const judge = async (page: Page, name: string): Promise<readonly string[]> => {
    const found: string[] = []
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
      found.push(...(await axeFindings(page)).map((finding) => `${colorScheme}: ${finding}`))
      await screenshot(page, `${name} ${colorScheme}`)
    }
    return found
  }

  test.each(screens)("%s passes axe in light and dark, and fits 360 pixels", async (path) => {
    const { tab } = story
    await story.go(named(path))
    await tab.getByRole("heading", { level: 1 }).first().waitFor()
    await expect.poll(() => tab.locator(".signet-loading").count(), { timeout: 20_000 }).toBe(0)
    // The page of components shows one failure, as an example.
    expect(await tab.locator(".signet-failed").count()).toBe(path === "/components" ? 1 : 0)
    expect(await judge(tab, path || "overview")).toEqual([])
    await tab.setViewportSize({ width: 360, height: 740 })
    expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
    await screenshot(tab, `${path || "overview"} 360 pixels`)
    await tab.setViewportSize({ width: 1280, height: 800 })
  })

  test.each(dialogs)(
    "the dialog at %s, %s, passes axe in light and dark, and fits 360 pixels",
    async (path, button) => {
      const { tab } = story
      await story.go(named(path))
      await tab.locator("main").getByRole("button", { name: button, exact: true }).first().click()
      const dialog = tab.getByRole("dialog")
      await dialog.waitFor()
      await expect.poll(() => tab.locator(".signet-loading").count(), { timeout: 20_000 }).toBe(0)
      expect(await judge(tab, `dialog ${path} ${button}`)).toEqual([])
      await tab.setViewportSize({ width: 360, height: 740 })
      const { x = -1, width = 999 } = (await dialog.boundingBox()) ?? {}
      expect([x >= 0, x + width <= 360]).toEqual([true, true])
      await tab.setViewportSize({ width: 1280, height: 800 })
    },
  )

  test("the pages of the sign-in pass axe in light and dark, and fit 360 pixels", async () => {
    const context = await story.browser.newContext({ viewport: { width: 360, height: 740 } })
    context.setDefaultTimeout(30_000)
    const page = await story.watched.open(context, `${story.program.url}/console`)
    const signInButton = page.getByRole("button", { name: "Sign in with Stand-in" })
    await signInButton.waitFor()
    expect(await judge(page, "sign-in")).toEqual([])
    await page.getByText("Sign in to a tenant, or with an invitation").click()
    await page.getByLabel("Tenant or context").fill("nothing")
    await page.getByRole("alert").waitFor()
    expect(await judge(page, "sign-in to a place")).toEqual([])
    await page.goto(`${story.program.url}/console/callback?error=access_denied&state=x`)
    await page.getByRole("alert").first().waitFor()
    expect(await judge(page, "sign-in refused")).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
    await page.goto(`${story.program.url}/console/chat`)
    await signInButton.waitFor()
    expect(await judge(page, "sign-in to the chat")).toEqual([])
    await context.close()
  })

  test("an administrator of the installation sees limits and lockouts, and its screen passes axe", async () => {
    const page = await openInstallation(story)
    await page.getByRole("link", { name: "Limits and lockouts" }).click()
    await page.getByText("The operator has disabled all limits.").waitFor()
    await page.getByText("sign_in_options.ip").waitFor()
    await page.getByText("No principal is locked.").waitFor()
    expect(await axeFindings(page)).toEqual([])
    await screenshot(page, "/limits of the installation")
    await page.context().close()
  })

  test("no screen reported a violation of its policy, or an error", () => {
    expect(story.watched.violations).toEqual([])
    expect(story.watched.errors).toEqual([])
  })
})
