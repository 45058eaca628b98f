// Every screen of the console in Chromium: axe in light and dark, and the width of a phone.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import { chromiumMissing } from "../support/chromium.ts"
import { axeFindings, type ConsoleStory, openConsole, screenshot, signIn } from "../support/console.ts"
import { isLong } from "../support/effort.ts"

const title = `the screens of the console${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const screens = [
  "",
  "/people?find=ada@example.com",
  "/people/{person}",
  "/apps",
  ...["", "/members", "/roles", "/connections", "/tenants", "/contexts", "/invitations", "/permissions", "/grants"].map(
    (part) => `/apps/${developmentAppId}${part}`,
  ),
  "/services",
  "/delegations",
  "/activity",
  "/audit",
  "/why",
  "/limits",
  "/keys",
  "/health",
  "/account",
  "/components",
  "/nowhere",
]

describe.skipIf(chromiumMissing !== undefined || !isLong)(title, () => {
  let story: ConsoleStory
  let person = ""
  beforeAll(async () => {
    story = await openConsole()
    await signIn(story.tab, "ada@example.com", "Ada")
    await story.heading("Overview")
    await story.go("/people?find=ada@example.com")
    await story.tab.getByRole("link", { name: "Ada" }).click()
    await story.heading("Memberships")
    person = story.tab.url().split("/").at(-1) ?? ""
  })
  afterAll(() => story?.close())

  test.each(screens)("%s passes axe in light and dark, and fits 360 pixels", async (path) => {
    const { tab } = story
    await story.go(path.replace("{person}", person))
    await tab.getByRole("heading", { level: 1 }).first().waitFor()
    await expect.poll(() => tab.locator(".signet-loading").count(), { timeout: 20_000 }).toBe(0)
    for (const colorScheme of ["light", "dark"] as const) {
      await tab.emulateMedia({ colorScheme, reducedMotion: "reduce" })
      expect([colorScheme, ...(await axeFindings(tab))]).toEqual([colorScheme])
      await screenshot(tab, `${path || "overview"} ${colorScheme}`)
    }
    await tab.setViewportSize({ width: 360, height: 740 })
    expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
    await screenshot(tab, `${path || "overview"} 360 pixels`)
    await tab.setViewportSize({ width: 1280, height: 800 })
  })

  test("an administrator of the installation sees limits and lockouts, and its screen passes axe", async () => {
    const context = await story.browser.newContext({ viewport: { width: 1280, height: 800 } })
    context.setDefaultTimeout(30_000)
    const page = await story.watched.open(context, `${story.program.url}/console`)
    await page.getByLabel("Administer").selectOption("installation")
    await expect.poll(() => page.getByLabel("Administer").inputValue()).toBe("installation")
    await signIn(page, "grace@example.com", "Grace")
    await page.getByRole("link", { name: "Limits and lockouts" }).click()
    await page.getByText("The operator has disabled all limits.").waitFor()
    await page.getByText("sign_in_options.ip").waitFor()
    await page.getByText("No principal is locked.").waitFor()
    expect(await axeFindings(page)).toEqual([])
    await screenshot(page, "/limits of the installation")
    await context.close()
  })

  test("no screen reported a violation of its policy, or an error", () => {
    expect(story.watched.violations).toEqual([])
    expect(story.watched.errors).toEqual([])
  })
})
