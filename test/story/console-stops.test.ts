// Buttons of the console that end something, in Chromium, and what the API answers afterwards.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import { chromiumMissing } from "../support/chromium.ts"
import { bearer, type Clients } from "../support/clients.ts"
import {
  administratorOf,
  axeFindings,
  type ConsoleStory,
  openConsole,
  openInstallation,
  screenshot,
  signIn,
} from "../support/console.ts"
import { isLong } from "../support/effort.ts"
import { postForm } from "../support/machines.ts"
import { request } from "../support/service-accounts.ts"

const title = `what the console stops${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const limits = { lockouts: { client: { failures: 2, lockSeconds: 600, mostLockSeconds: 600 } } }

describe.skipIf(chromiumMissing !== undefined || !isLong)(title, () => {
  let story: ConsoleStory
  let clients: Clients
  let root: ReturnType<typeof bearer>
  let tenantId = ""
  let machine: { principalId: string; clientId: string; secret: string }
  beforeAll(async () => {
    story = await openConsole({ SIGNET_LIMITS: JSON.stringify(limits) })
    const administrator = await administratorOf(story.program.url)
    clients = administrator.clients
    root = await administrator.root()
    const account = { ...request, name: "gardener", allowedAudiences: ["svc-notes"], scopes: ["notes.read"] }
    const { serviceAccount } = await clients.services.createServiceAccount(account, root)
    const { id = "", principalId = "", clientId = "" } = serviceAccount ?? {}
    const { secret } = await clients.services.addSecret({ serviceAccountId: id }, root)
    machine = { principalId, clientId, secret }
    const asked = { appId: developmentAppId, tenant: { name: "Kew" } }
    tenantId = (await clients.admin.createTenant(asked, root)).tenant?.id ?? ""
  }, 600_000)
  afterAll(() => story?.close())

  /** Asks the token endpoint as the service. @returns Status and reason. */
  const ask = async (form: Record<string, string>, secret = machine.secret) => {
    const by = { client_id: machine.clientId, client_secret: secret, audience: "svc-notes", scope: "notes.read" }
    const { status, body } = await postForm(`${story.program.url}/auth/token`, { ...form, ...by })
    return [status, body.reason]
  }

  test("an administrator sees a delegation's policy and stops it, and the service gets no further token", async () => {
    const { tab } = story
    const rights = { audiences: ["svc-notes"], scopes: ["notes.read"] }
    const asked = { ...rights, actorPrincipalId: machine.principalId, allowStanding: true }
    const { policy } = await clients.delegations.createDelegationPolicy(asked, root)
    const bob = bearer(await story.memberToken())
    const consent = { ...rights, policyId: policy?.id ?? "" }
    const { delegation } = await clients.delegations.createDelegation(consent, bob)
    const form = { grant_type: "on_behalf_of", delegation_id: delegation?.id ?? "", job_id: "nightly" }
    expect(await ask(form)).toEqual([200, undefined])

    await signIn(tab, "ada@example.com", "Ada")
    await story.heading("Overview")
    await story.go("/delegations")
    const paths = tab.locator(".graph > li", { hasText: "gardener" })
    const personId = delegation?.subjectPrincipalId ?? ""
    const person = paths.filter({ hasText: personId })
    const path = paths.filter({ hasNotText: personId }).first()
    await path.getByText("svc-notes").waitFor()
    await person.getByText("until").waitFor()
    // The picture has the same paths: a chosen name leaves only its own.
    const picture = tab.getByRole("figure").first()
    await picture.getByRole("button", { name: "gardener" }).waitFor()
    await picture.getByRole("button", { name: /^bob.*until/i }).press("Enter")
    await expect.poll(() => path.count()).toBe(0)
    await person.getByText("until").waitFor()
    await screenshot(tab, "/delegations with a policy")
    expect(await axeFindings(tab)).toEqual([])
    // The administrator stops the service for one person, who then allows it again.
    await person.getByRole("button", { name: "Stop", exact: true }).click()
    await tab.getByRole("dialog").getByText("1 delegation ends", { exact: false }).waitFor()
    await tab.getByRole("dialog").getByRole("button", { name: "Stop", exact: true }).click()
    await tab.getByText("Nobody has allowed it while offline.").waitFor()
    expect(await ask(form)).toEqual([400, "DELEGATION_EXPIRED"])
    const { delegation: again } = await clients.delegations.createDelegation(consent, bob)
    form.delegation_id = again?.id ?? ""
    await path.getByRole("button", { name: "Stop", exact: true }).click()
    const dialog = tab.getByRole("dialog")
    await dialog.getByText("gardener can no longer act for anybody under it").waitFor()
    await dialog.getByText("1 standing delegation under it ends.").waitFor()
    // Nothing has ended before the answer.
    expect(await ask(form)).toEqual([200, undefined])
    await dialog.getByRole("button", { name: "Stop", exact: true }).click()
    await path.getByText("stopped").waitFor()
    expect(await path.getByRole("button").count()).toBe(0)
    expect(await ask(form)).toEqual([400, "DELEGATION_NOT_ALLOWED"])
  })

  test("an administrator of the installation finds another app's tenant, sees the keys, and lifts a lockout", async () => {
    const page = await openInstallation(story)
    await page.getByRole("searchbox").fill(tenantId)
    await page.getByRole("searchbox").press("Enter")
    await page.getByRole("heading", { name: "Kew" }).waitFor()
    await page.locator("main").getByRole("link", { name: "Audit" }).click()
    await page.getByText("tenant.created").waitFor()
    await page.getByRole("link", { name: "Signing keys" }).click()
    await page.locator(".time-line li").getByText("Signs from now on").first().waitFor()
    await screenshot(page, "/keys of the installation")

    const form = { grant_type: "client_credentials" }
    expect(await ask(form)).toEqual([200, undefined])
    for (let i = 0; i < 3; i++) await ask(form, "sgsec_wrong")
    expect((await ask(form))[0]).toBe(429)
    await page.getByRole("link", { name: "Limits and lockouts" }).click()
    const row = page.getByRole("row").filter({ has: page.getByText("client", { exact: true }) })
    await row.getByRole("button", { name: "Lift" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Lift", exact: true }).click()
    await expect.poll(() => row.count(), { timeout: 30_000 }).toBe(0)
    expect(await ask(form)).toEqual([200, undefined])
    await page.context().close()
  })

  test("no page reported a violation of its policy, or an error", () => {
    expect(story.watched.violations).toEqual([])
    expect(story.watched.errors).toEqual([])
  })
})
