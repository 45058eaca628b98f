// A tenant's administrator in the console: what the pages show, which calls they make, and the API's attack list with
// the page's own token.

import { administrationScopes } from "@signet/kernel/administration/scopes"
import { newId, type PrincipalId } from "@signet/kernel/ids"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import {
  administrationMethods,
  callRaw,
  type Ids,
  idPaths,
  makeOneOfEach,
  noIds,
  requestOf,
  type Target,
} from "../support/administered.ts"
import { chromiumMissing } from "../support/chromium.ts"
import { bearer, type Clients, clientsOver, protocols } from "../support/clients.ts"
import { axeFindings, type ConsoleStory, openConsole, signIn, tokenOf } from "../support/console.ts"
import { isLong } from "../support/effort.ts"

const title = `a tenant's administrator in the console${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const appId = developmentAppId
const random = () => crypto.getRandomValues(new Uint8Array(10))
const foreignName = "Eden"

describe.skipIf(chromiumMissing !== undefined || !isLong)(title, () => {
  let story: ConsoleStory
  let clients: Clients
  let page: Page
  /** An administrator of the app. */
  let root: { headers: Record<string, string> }
  let mine: Ids
  let foreign: Ids
  let foreignEvent = ""
  /** The token of the page, from the headers of its calls. */
  let token = ""
  const refused: string[] = []

  beforeAll(async () => {
    story = await openConsole()
  }, 600_000)

  beforeAll(async () => {
    const { url } = story.program
    const connect = protocols["Connect JSON over HTTP/1.1"]
    if (connect === undefined) throw new Error("no protocol")
    clients = clientsOver(connect(url))
    const invited = await fetch(`${url}/dev/console`, { method: "POST" })
    const { invitationCode } = (await invited.json()) as { invitationCode: string }
    root = bearer(await tokenOf(url, "ada@example.com", { invitationCode }))
    mine = await oneOfEachIn("Kew", "bob@example.com")
    foreign = await oneOfEachIn(foreignName, "eve@example.com")
    const { auditEvents } = await clients.audit.listAuditEvents({ appId, tenantId: foreign.tenant_id }, root)
    foreignEvent = auditEvents[0]?.id ?? ""
    const asked = { appId, tenantId: mine.tenant_id, scopes: administrationScopes }
    const { code } = await clients.admin.inviteMember({ ...asked, scopes: [...asked.scopes] }, root)

    const context = await story.browser.newContext({ viewport: { width: 1280, height: 800 } })
    context.setDefaultTimeout(60_000)
    page = await story.watched.open(context, `${url}/console?sign-in=${mine.tenant_id}`)
    page.on("request", (request) => {
      const { authorization = "" } = request.headers()
      if (authorization.startsWith("Bearer ")) token = authorization.slice("Bearer ".length)
    })
    page.on("response", (response) => {
      if (response.status() === 403) refused.push(response.url())
    })
    expect(await page.getByLabel("Tenant").inputValue()).toBe(mine.tenant_id)
    await page.getByLabel("Invitation code").fill(code)
    await signIn(page, "kim@example.com", "Kim")
    await page.getByRole("heading", { name: "Overview" }).waitFor()
  }, 600_000)
  afterAll(() => story?.close())

  /** A tenant with a context, a role, an invitation, a member and a grant. */
  async function oneOfEachIn(name: string, email: string): Promise<Ids> {
    const { tenant } = await clients.admin.createTenant({ appId, tenant: { name } }, root)
    const tenantId = tenant?.id ?? ""
    const { context } = await clients.admin.createContext(
      { appId, context: { tenantId, type: "project", name: `${name} garden` } },
      root,
    )
    const person = bearer(await tokenOf(story.program.url, email))
    const me = await clients.auth.me({}, person)
    const { code } = await clients.admin.inviteMember({ appId, tenantId, principalId: me.principal?.id ?? "" }, root)
    await clients.account.acceptInvitation({ code }, person)
    return makeOneOfEach(clients, root, {
      ...{ appId, tenantId, contextId: context?.id ?? "", principalId: (me.principal?.id ?? "") as PrincipalId },
      ...{ providerAccountId: me.providerAccounts[0]?.id ?? "", sessionId: me.session?.id ?? "" },
    })
  }

  const main = () => page.locator("main")
  /** Opens a path, and returns the text of the screen once it has loaded. */
  async function read(path: string): Promise<string> {
    await page.goto(`${story.program.url}/console${path}`)
    await page.locator("main h1, main [role=alert]").first().waitFor()
    await expect.poll(() => page.locator("main .signet-loading").count(), { timeout: 30_000, message: path }).toBe(0)
    await page.waitForLoadState("networkidle")
    return (await main().textContent()) ?? ""
  }
  const missing = () => noIds(random)
  const foreignTexts = () =>
    [foreignName, ...Object.entries(foreign).flatMap(([field, id]) => (isForeign(field) ? [id] : []))] as const
  /** Ids that belong to the other tenant alone. */
  const isForeign = (field: string) =>
    mine[field as keyof Ids] !== foreign[field as keyof Ids] && field !== "session_id"
  const app = `/apps/${appId}`

  test("is offered the pages that the token reaches, and nothing else", async () => {
    const links = await page.locator("nav#menu ul").first().getByRole("link").allInnerTexts()
    expect(links).toEqual(["Overview", "People", "This tenant", "Service accounts", "Delegation"])
    const understanding = await page.locator("nav#menu ul").nth(1).getByRole("link").allInnerTexts()
    expect(understanding).toEqual(["Activity", "Audit", "Why?", "Signing keys", "Health"])
    await page.getByRole("link", { name: "This tenant" }).click()
    await page.getByRole("heading", { name: "Kew" }).waitFor()
    const parts = await page.getByRole("navigation", { name: "Parts of the app" }).getByRole("link").allInnerTexts()
    expect(parts).toEqual(["Tenants", "Contexts", "Members", "Invitations", "Roles", "Permissions", "Grants"])
    expect(await page.getByRole("button", { name: "Create tenant" }).count()).toBe(0)
  })

  test("sees the tenant, nothing of another tenant, and no page that it is offered makes a refused call", async () => {
    const shown: [string, string][] = [
      ["", mine.tenant_id],
      [`${app}/tenants`, "Kew"],
      [`${app}/contexts`, "Kew garden"],
      [`${app}/members`, mine.tenant_id],
      [`${app}/invitations`, mine.invitation_id],
      [`${app}/roles`, "role"],
      [`${app}/permissions`, mine.permission_key],
      [`${app}/grants`, mine.principal_id],
      ["/people?find=bob@example.com", mine.principal_id],
      [`/people/${mine.principal_id}`, mine.tenant_id],
      ["/services", "No service account yet."],
      ["/delegations", "Policies of the app"],
      ["/activity", "Sign-ins"],
      ["/audit", "membership.accepted"],
      ["/why", "Explain"],
      ["/keys", "Access tokens"],
      ["/account", "kim@example.com"],
    ]
    refused.length = 0
    for (const [path, text] of shown) {
      await expect.poll(() => read(path), { timeout: 30_000, message: path }).toContain(text)
      const html = await page.content()
      // Permissions are facts of the app, which every tenant's administrator reads.
      const hidden = foreignTexts().filter((one) => one !== foreign.permission_key)
      expect([path, hidden.filter((one) => html.includes(one))]).toEqual([path, []])
      expect([path, await axeFindings(page)]).toEqual([path, []])
    }
    expect(refused).toEqual([])
  })

  test("a page of another level, opened by its address, says so and calls nothing", async () => {
    refused.length = 0
    for (const path of [`/apps`, `${app}/settings`, `${app}/connections`]) {
      expect([path, await read(path)]).toEqual([path, expect.stringContaining("for administrators of a whole app")])
    }
    expect(await read("/limits")).toContain("for administrators of the installation")
    expect(await main().textContent()).toContain(mine.tenant_id)
    expect(refused).toEqual([])
  })

  test("an address of another tenant's object shows the same as one that does not exist", async () => {
    const none = missing()
    const paths: ((ids: Ids, event: string) => string)[] = [
      (ids) => `/people/${ids.principal_id}`,
      () => "/people?find=eve@example.com",
      (ids) => `${app}/members/${ids.tenant_id}`,
      (ids) => `${app}/contexts/${ids.tenant_id}`,
      (ids) => `/audit?tenant=${ids.tenant_id}`,
      (ids) => `/audit?principal=${ids.principal_id}`,
      (ids) => `/audit?target=${ids.role_id}`,
      (_, event) => `/why?event=${event}`,
    ]
    for (const path of paths) {
      const there = path(foreign, foreignEvent)
      const nowhere = path(none, newId("aud", Date.now(), random())).replace("eve@", "nobody@")
      const plain = (text: string, ids: Ids) =>
        Object.values(ids).reduce((so_far, id) => (id === "" ? so_far : so_far.replaceAll(id, "…")), text)
      expect([there, plain(await read(there), foreign)]).toEqual([there, plain(await read(nowhere), none)])
    }
  })

  test("a form that names another tenant is refused in plain words, and changes nothing there", async () => {
    const counted = async () => {
      const at = { appId, tenantId: foreign.tenant_id }
      const { invitations } = await clients.admin.listInvitations(at, root)
      const { contexts } = await clients.admin.listContexts(at, root)
      const { roles } = await clients.admin.listRoles(at, root)
      const { grants } = await clients.admin.listGrants(at, root)
      return [invitations, contexts, roles, grants].map((all) => all.length)
    }
    const before = await counted()
    // As a page that an attacker has changed: each id of this tenant becomes one of the other.
    await page.route(/AppAuthService\/(Create|Invite|Suspend)/, async (route) => {
      const body = route.request().postDataBuffer()?.toString("latin1") ?? ""
      await route.continue({
        postData: Buffer.from(body.replaceAll(mine.tenant_id, foreign.tenant_id), "latin1"),
      })
    })
    const dialog = page.getByRole("dialog")
    const sends = async (path: string, open: string, fields: readonly (readonly [string, string])[], send: string) => {
      await read(path)
      await page.getByRole("button", { name: open, exact: true }).first().click()
      for (const [label, text] of fields) await dialog.getByLabel(label, { exact: true }).fill(text)
      await dialog.getByRole("button", { name: send, exact: true }).click()
      await dialog.getByText("The object does not exist, or it is outside of what you administer.").waitFor()
    }
    await sends(`${app}/members`, "Invite", [], "Invite")
    await sends(
      `${app}/contexts`,
      "Create context",
      [
        ["Name", "taken"],
        ["Type", "project"],
      ],
      "Create context",
    )
    await sends(`${app}/roles`, "Create role", [["Role", "taken"]], "Save")
    await sends(`${app}/tenants`, "Suspend", [], "Suspend")
    await page.unroute(/AppAuthService\/(Create|Invite|Suspend)/)
    expect(await counted()).toEqual(before)
    // The same forms work where the token administers.
    await read(`${app}/roles`)
    await page.getByRole("button", { name: "Create role" }).click()
    await dialog.getByLabel("Role", { exact: true }).fill("gardener")
    await dialog.getByRole("button", { name: "Save" }).click()
    await page.getByText("gardener").waitFor()
  })

  test("the API's attack list with the page's token: another tenant's ids answer as missing ones", async () => {
    const target: Target = {
      url: story.program.url,
      idp: { issuer: `${story.program.url}/dev/idp-a`, jwksUri: `${story.program.url}/dev/idp-a/jwks` },
      deps: { clock: { nowMs: () => Date.now() } },
    }
    const pick = (ids: Ids, path: string) => ids[path.split(".").at(-1) as keyof Ids]
    let calls = 0
    await read("")
    for (const method of administrationMethods) {
      const paths = idPaths(method).filter((path) => isForeign(path.split(".").at(-1) ?? ""))
      if (paths.length === 0 || method.name === "FindUsers") continue
      const ask = (ids: Ids) => {
        const ways = paths.map((path) => [path, pick(ids, path)])
        return callRaw(target, method, requestOf(target, method, mine, Object.fromEntries(ways)), bearer(token))
      }
      const [there, nowhere] = [await ask(foreign), await ask(missing())]
      calls++
      expect([method.name, there]).toEqual([method.name, nowhere])
      const isFilter = method.name.startsWith("List") && /^(principal_id|role_id)/.test(`${paths}`)
      if (!isFilter)
        expect([method.name, there.status, there.reason]).toEqual([method.name, 403, "RESOURCE_UNRESOLVED"])
    }
    expect(calls).toBeGreaterThan(40)
  })

  test("changes to the app as a whole, and back, with another sign-in of the same person", async () => {
    await read("")
    await page.getByRole("button", { name: "Sign in there" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Sign in with Stand-in" }).click()
    // The provider knows the person, and asks nothing.
    await page.getByText("Your membership has no administrative scope").waitFor()
    expect(await page.getByRole("link", { name: "Audit", exact: true }).count()).toBe(0)
    await page.getByRole("button", { name: "Sign in there" }).waitFor()
    expect(await main().textContent()).toContain(mine.tenant_id)
  })

  test("no page reported a violation of its policy, or an error", () => {
    expect(story.watched.violations).toEqual([])
    expect(story.watched.errors).toEqual([])
  })
})
