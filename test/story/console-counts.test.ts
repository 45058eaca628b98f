// Every action of the console that ends something: it says what ends, counts it, and asks. After a no nothing has ended.
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import { chromiumMissing } from "../support/chromium.ts"
import {
  type Administrator,
  administratorOf,
  axeFindings,
  type ConsoleStory,
  openConsole,
  openInstallation,
  screenshot,
  signIn,
} from "../support/console.ts"
import { type FilledApp, fillApp } from "../support/console-filled.ts"
import { isLong } from "../support/effort.ts"

const title = `what the console counts before it asks${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const app = `/apps/${developmentAppId}`

interface Ending {
  readonly path: (ids: FilledApp) => string
  /** A part of the row's text; without it the first such button of the page is pressed. */
  readonly row?: string
  readonly button: string
  /** The count, as the dialog says it. */
  readonly says: string | RegExp
}

const at = (part: string) => () => `${app}/${part}`
const ofMember = ({ memberId }: FilledApp) => `/people/${memberId}`

/** Actions of an app's administrator. */
const endings: readonly Ending[] = [
  { path: at("tenants"), button: "Suspend", says: "2 active memberships are affected." },
  {
    ...{ path: at("tenants"), button: "Archive" },
    says: "2 active memberships are affected. 1 context ends. 2 active grants end.",
  },
  { path: at("contexts"), button: "Suspend", says: "1 active membership is affected." },
  { path: at("contexts"), button: "Archive", says: "1 active membership is affected. 1 active grant ends." },
  { path: at("members"), row: "ctx_", button: "Suspend", says: "0 sessions end here." },
  {
    ...{ path: ({ tenantId }) => `${app}/members/${tenantId}`, row: "ten_", button: "Remove" },
    says: "0 sessions, 1 membership inside, 2 grants end here.",
  },
  { path: at("invitations"), button: "Revoke", says: "1 invitation ends" },
  { path: at("roles"), row: "reader", button: "Archive", says: "2 active grants end." },
  { path: at("grants"), row: "reader", button: "Revoke", says: "1 grant ends" },
  {
    path: at("connections"),
    row: "Stand-indefaultIDP_A · WEB",
    button: "Disable",
    says: /[1-9]\d* sessions? that it began ends?\..*[Oo]ther conn/,
  },
  { path: ({ serviceId }) => `/services/${serviceId}`, button: "Revoke", says: "1 secret ends. No other secret" },
  { path: ({ serviceId }) => `/services/${serviceId}`, button: "Disable", says: "1 active secret stops" },
  {
    ...{ path: () => "/delegations", button: "Stop" },
    says: /1 policy ends.*1 standing delegation under it ends\./,
  },
  { path: ofMember, row: "Unnamed device", button: "Revoke", says: "1 session ends" },
  { path: ofMember, button: "Revoke all", says: /\d sessions? ends? where you administer/ },
  { path: () => "/account", row: "this device", button: "End session", says: "1 session ends" },
  {
    path: () => "/account",
    row: "ada@example.com",
    button: "Unlink",
    says: /can: 0\..*[1-9]\d* sessions? ends?, in all apps/,
  },
  { path: () => "/account", row: "script", button: "Revoke", says: "1 token ends" },
  { path: () => "/account", button: "Delete account", says: /\d sessions?, 1 personal access token end, in all apps/ },
]

/** Actions of an administrator of the installation. */
const endingsOfInstallation: readonly Ending[] = [
  { path: () => app, button: "Suspend", says: /active memberships are affected\./ },
  {
    path: () => app,
    button: "Archive",
    says: /memberships are affected\. 1 tenant ends\. 1 context ends\. \d active gra/,
  },
  ...(["Suspend", "Deactivate"] as const).map((button) => ({
    ...{ path: ofMember, button },
    says: "1 session ends, in all apps. 1 personal access token ends.",
  })),
  { path: ofMember, button: "Block", says: "1 session ends, in all apps." },
  { path: ofMember, button: "Lock", says: "1 session is refused until then, in all apps." },
]

describe.skipIf(chromiumMissing !== undefined || !isLong)(title, () => {
  let story: ConsoleStory
  let administrator: Administrator
  let ids: FilledApp
  let installation: Page
  beforeAll(async () => {
    story = await openConsole()
    administrator = await administratorOf(story.program.url)
    ids = await fillApp(administrator, story.program.url)
    await signIn(story.tab, "ada@example.com", "Ada")
    await story.heading("Overview")
    const { clients, root } = administrator
    const script = { name: "script", allowedAudiences: ["auth"], scopes: ["auth.apps.read"], expiresInDays: 1 }
    await clients.pats.createPat(script, await root())
    installation = await openInstallation(story)
  }, 600_000)
  afterAll(() => story?.close())

  /** Opens the question, reads its count, and answers no. @returns Findings of axe in the dialog. */
  const decline = async (page: Page, { path, row, button, says }: Ending): Promise<readonly string[]> => {
    const address = `${story.program.url}/console${path(ids)}`
    await page.goto(address)
    const within = row === undefined ? page.locator("main") : page.getByRole("row").filter({ hasText: row }).first()
    await within.getByRole("button", { name: button, exact: true }).first().click()
    const dialog = page.getByRole("dialog")
    const matching = typeof says === "string" ? expect.stringContaining(says) : expect.stringMatching(says)
    await expect.poll(() => dialog.textContent(), { timeout: 30_000, message: button }).toEqual(matching)
    const findings = await axeFindings(page)
    await screenshot(page, `dialog ${path(ids).replaceAll(/_\w{26}/g, "")} ${button}`)
    await dialog.getByRole("button", { name: "Cancel" }).click()
    expect(await dialog.count()).toBe(0)
    return findings
  }

  const kindsOf = async () => {
    const { clients, root } = administrator
    const { auditEvents } = await clients.audit.listAuditEvents({ pageSize: 200 }, await root())
    return auditEvents.map(({ kind }) => kind).filter((kind) => !/^(token|session|login|identity)\./.test(kind))
  }
  let before: readonly string[]
  beforeAll(async () => {
    before = await kindsOf()
  })

  test.each(endings)("an app's administrator: $button says $says", async (ending) => {
    expect(await decline(story.tab, ending)).toEqual([])
  })

  test.each(endingsOfInstallation)("an administrator of the installation: $button says $says", async (ending) => {
    expect(await decline(installation, ending)).toEqual([])
  })

  test("nothing has ended after a no", async () => {
    expect(await kindsOf()).toEqual(before)
    const { clients, root } = administrator
    const { app: now } = await clients.admin.getApp({ appId: developmentAppId }, await root())
    expect(now?.status).toBe(1)
  })

  test("signing out everywhere counts the sessions, asks, and signs every browser out", async () => {
    const { tab } = story
    const context = await story.browser.newContext()
    context.setDefaultTimeout(30_000)
    const other = await story.watched.open(context, `${story.program.url}/console`)
    await signIn(other, "ada@example.com", "Ada")
    await other.getByRole("heading", { name: "Overview" }).waitFor()
    await story.go("")
    const dialog = tab.getByRole("dialog")
    for (const answer of ["Cancel", "Sign out everywhere"]) {
      await story.press("ada@example.com")
      await story.press("Sign out everywhere")
      await dialog.getByText(/\d+ sessions end in this app\./).waitFor()
      await dialog.getByRole("button", { name: answer, exact: true }).click()
      if (answer === "Cancel") await story.heading("Overview")
    }
    await tab.getByRole("button", { name: "Sign in with Stand-in" }).waitFor()
    await other.reload()
    await other.getByRole("button", { name: "Sign in with Stand-in" }).waitFor()
    await context.close()
  })

  test("no page reported a violation of its policy, or an error", () => {
    expect(story.watched.violations).toEqual([])
    expect(story.watched.errors).toEqual([])
  })
})
