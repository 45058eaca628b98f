// An administrator of a tenant or of a context in the console, and others of the same kind whose places must stay hidden.

import { administrationScopes } from "@signet/kernel/administration/scopes"
import { newId, type PrincipalId } from "@signet/kernel/ids"
import type { Page } from "playwright-core"
import { expect } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import {
  administrationMethods,
  callRaw,
  type Ids,
  idKind,
  idPaths,
  isIdFilter,
  makeOneOfEach,
  noIds,
  requestOf,
  type Target,
} from "./administered.ts"
import { bearer, type Clients } from "./clients.ts"
import { administratorOf, axeFindings, type ConsoleStory, openConsole, signIn, tokenOf } from "./console.ts"

type Options = { headers: Record<string, string> }
const appId = developmentAppId
const random = () => crypto.getRandomValues(new Uint8Array(10))

/** The objects of one place, and an event of its audit. */
export interface Filled {
  readonly ids: Ids
  readonly name: string
  readonly event: string
}

export interface PlaceStory {
  readonly story: ConsoleStory
  readonly clients: Clients
  /** Call options of an administrator of the app. */
  readonly root: Options
  readonly page: Page
  readonly mine: Filled
  /** Places that the administrator does not reach. */
  readonly others: readonly Filled[]
  /** Addresses of the calls that the server refused since the last reset. */
  readonly refused: string[]
  /** The newest token of the page, from the headers of its calls. */
  token(): string
  /** Opens a path, and returns the text of the screen once it has loaded. */
  read(path: string): Promise<string>
}

interface Wanted {
  /** The level that the administrator administers. */
  readonly level: "tenant" | "context"
  /** Scopes besides those of every administrator. */
  readonly scopes?: readonly string[]
}

/**
 * Starts the program, fills the tenants Kew and Eden, and signs Kim in to Kew or to its context. For a context, another
 * context of Kew is hidden as well.
 */
export async function openPlace({ level, scopes = [] }: Wanted): Promise<PlaceStory> {
  const story = await openConsole()
  const { url } = story.program
  const administrator = await administratorOf(url)
  const { clients } = administrator
  const root = await administrator.root()
  const fill = (name: string, email: string, tenantId?: string) =>
    fillPlace({ clients, root, url }, { level, name, email, tenantId })
  const mine = await fill("Kew", "bob@example.com")
  const others = [await fill("Eden", "eve@example.com")]
  if (level === "context") others.push(await fill("Orchard", "oli@example.com", mine.ids.tenant_id))

  const contextId = level === "context" ? mine.ids.context_id : ""
  const asked = { appId, tenantId: mine.ids.tenant_id, contextId, scopes: [...administrationScopes, ...scopes] }
  const { code } = await clients.admin.inviteMember(asked, root)
  const context = await story.browser.newContext({ viewport: { width: 1280, height: 800 } })
  context.setDefaultTimeout(60_000)
  const place = placeText(mine, level)
  const page = await story.watched.open(context, `${url}/console?sign-in=${place}`)
  let token = ""
  const refused: string[] = []
  page.on("request", (request) => {
    const { authorization = "" } = request.headers()
    if (authorization.startsWith("Bearer ")) token = authorization.slice("Bearer ".length)
  })
  page.on("response", (response) => {
    if (response.status() === 403) refused.push(response.url())
  })
  expect(await page.getByLabel("Tenant or context").inputValue()).toBe(place)
  await page.getByLabel("Invitation code").fill(code)
  await signIn(page, "kim@example.com", "Kim")
  await page.getByRole("heading", { name: "Overview" }).waitFor()
  const read = (path: string) => readScreen(page, `${url}/console${path}`)
  return { ...{ story, clients, root, page, mine, others, refused, read }, token: () => token }
}

/** A place as a link to the sign-in names it. */
export const placeText = ({ ids }: Filled, level: Wanted["level"]): string =>
  level === "context" ? `${ids.tenant_id}/${ids.context_id}` : ids.tenant_id

async function readScreen(page: Page, address: string): Promise<string> {
  await page.goto(address)
  await page.locator("main h1, main [role=alert]").first().waitFor()
  await expect.poll(() => page.locator("main .signet-loading").count(), { timeout: 30_000, message: address }).toBe(0)
  await page.waitForLoadState("networkidle")
  return (await page.locator("main").textContent()) ?? ""
}

interface Filling {
  readonly level: Wanted["level"]
  readonly name: string
  /** A new member. */
  readonly email: string
  /** A new tenant without it. */
  readonly tenantId: string | undefined
}

/** A tenant with a context, and at the level a role, an invitation, a member and a grant. */
async function fillPlace(
  { clients, root, url }: Pick<PlaceStory, "clients" | "root"> & { url: string },
  { level, name, email, tenantId: given }: Filling,
): Promise<Filled> {
  const { admin } = clients
  const tenantId = given ?? (await admin.createTenant({ appId, tenant: { name } }, root)).tenant?.id ?? ""
  const inTenant = { tenantId, type: "project", name: `${name} garden` }
  const { context } = await admin.createContext({ appId, context: inTenant }, root)
  const person = bearer(await tokenOf(url, email))
  const me = await clients.auth.me({}, person)
  const contextId = context?.id ?? ""
  const at = { appId, tenantId, contextId: level === "context" ? contextId : "" }
  const { code } = await admin.inviteMember({ ...at, principalId: me.principal?.id ?? "" }, root)
  await clients.account.acceptInvitation({ code }, person)
  const ids = await makeOneOfEach(clients, root, {
    ...{ appId, tenantId, contextId, level, principalId: (me.principal?.id ?? "") as PrincipalId },
    ...{ providerAccountId: me.providerAccounts[0]?.id ?? "", sessionId: me.session?.id ?? "" },
  })
  const { auditEvents } = await clients.audit.listAuditEvents(at, root)
  return { ids, name, event: auditEvents[0]?.id ?? "" }
}

/**
 * The fields whose ids belong to the other place alone. Roles belong to a tenant, and a context's administrator reads
 * them.
 */
export function foreignFields({ ids: mine }: Filled, { ids: other }: Filled): readonly (keyof Ids)[] {
  const isOwnTenant = mine.tenant_id === other.tenant_id
  return (Object.keys(other) as (keyof Ids)[]).filter(
    (field) => mine[field] !== other[field] && field !== "session_id" && !(isOwnTenant && field === "role_id"),
  )
}

/** Reads screens with their expected texts: no name or id of another place, no refused call, and no finding of axe. */
export async function expectScreens(of: PlaceStory, shown: readonly (readonly [string, string])[]): Promise<void> {
  const { page, read, refused, mine, others } = of
  // Permissions are facts of the app, which every administrator reads.
  const hidden = others.flatMap((other) => [
    other.name,
    ...foreignFields(mine, other).flatMap((field) => (field === "permission_key" ? [] : [other.ids[field]])),
  ])
  refused.length = 0
  for (const [path, text] of shown) {
    await expect.poll(() => read(path), { timeout: 30_000, message: path }).toContain(text)
    const html = await page.content()
    expect([path, hidden.filter((one) => html.includes(one))]).toEqual([path, []])
    expect([path, await axeFindings(page)]).toEqual([path, []])
  }
  expect(refused).toEqual([])
}

/** Opens addresses of another place's objects, and the same with ids that do not exist: the screens are equal. */
export async function expectMissing(
  { read, others }: PlaceStory,
  paths: readonly ((ids: Ids, event: string) => string)[],
): Promise<void> {
  const plain = (text: string, ids: Ids) =>
    Object.values(ids).reduce((so_far, id) => (id === "" ? so_far : so_far.replaceAll(id, "…")), text)
  for (const { ids, event } of others) {
    const none = noIds(random)
    for (const path of paths) {
      const there = path(ids, event)
      const nowhere = path(none, newId("aud", Date.now(), random())).replace(/\b(eve|oli)@/, "nobody@")
      expect([there, plain(await read(there), ids)]).toEqual([there, plain(await read(nowhere), none)])
    }
  }
}

/** Calls every administrative method with another place's ids and the page's token. @returns The number of calls. */
export async function attackWithToken({ story, mine, others, read, token }: PlaceStory): Promise<number> {
  const target: Target = {
    url: story.program.url,
    idp: { issuer: `${story.program.url}/dev/idp-a`, jwksUri: `${story.program.url}/dev/idp-a/jwks` },
    deps: { clock: { nowMs: () => Date.now() } },
  }
  let calls = 0
  for (const other of others) {
    const foreign = foreignFields(mine, other)
    await read("")
    for (const method of administrationMethods) {
      const paths = idPaths(method).filter((path) => foreign.includes(idKind(path)))
      if (paths.length === 0 || method.name === "FindUsers") continue
      const ask = (ids: Ids) => {
        const ways = paths.map((path) => [path, ids[idKind(path)]])
        return callRaw(target, method, requestOf(target, method, mine.ids, Object.fromEntries(ways)), bearer(token()))
      }
      const [there, nowhere] = [await ask(other.ids), await ask(noIds(random))]
      calls++
      expect([method.name, there]).toEqual([method.name, nowhere])
      if (!isIdFilter(method, paths))
        expect([method.name, there.status, there.reason]).toEqual([method.name, 403, "RESOURCE_UNRESOLVED"])
    }
  }
  return calls
}

/** Fills a dialog whose request an attacker has changed: the page says that the object does not exist. */
export interface TamperedForm {
  readonly path: string
  readonly open: string
  readonly fields?: readonly (readonly [label: string, text: string])[]
  readonly send: string
}

/**
 * Sends forms in which each id of the administrator's place becomes one of another place. They are refused in plain
 * words, and the number of records there stays.
 */
export async function expectRefusedForms(of: PlaceStory, forms: readonly TamperedForm[]): Promise<void> {
  const { page, mine, others, read } = of
  const dialog = page.getByRole("dialog")
  const tampered = /AppAuthService\/(Create|Invite|Suspend)/
  for (const other of others) {
    const before = await counted(of, other)
    await page.route(tampered, async (route) => {
      let body = route.request().postDataBuffer()?.toString("latin1") ?? ""
      for (const field of ["tenant_id", "context_id"] as const)
        body = body.replaceAll(mine.ids[field], other.ids[field])
      await route.continue({ postData: Buffer.from(body, "latin1") })
    })
    for (const { path, open, fields = [], send } of forms) {
      await read(path)
      await page.getByRole("button", { name: open, exact: true }).first().click()
      for (const [label, text] of fields) await dialog.getByLabel(label, { exact: true }).fill(text)
      await dialog.getByRole("button", { name: send, exact: true }).click()
      await dialog.getByText("The object does not exist, or it is outside of what you administer.").waitFor()
    }
    await page.unroute(tampered)
    expect(await counted(of, other)).toEqual(before)
  }
}

async function counted({ clients: { admin }, root }: PlaceStory, { ids }: Filled): Promise<readonly number[]> {
  const at = { appId, tenantId: ids.tenant_id }
  const { invitations } = await admin.listInvitations(at, root)
  const { contexts } = await admin.listContexts(at, root)
  const { roles } = await admin.listRoles(at, root)
  const { grants } = await admin.listGrants(at, root)
  return [invitations, contexts, roles, grants].map((all) => all.length)
}
