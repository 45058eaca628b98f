// A tenant's administrator at lists of many members in the console: the interactions, and their cost in the browser.

import { administrationScopes } from "@signet/kernel/administration/scopes"
import type { Page, Request } from "playwright-core"
import { developmentAppId } from "../../server/development/app-id.ts"
import { openPostgres } from "../../server/store/postgres/open.ts"
import type { Clients } from "./clients.ts"
import { administratorOf, type ConsoleStory, openConsole, signIn } from "./console.ts"
import { addManyMembers, addManyRoles, emailOfMember } from "./many-members.ts"

const appId = developmentAppId

/** A tenant whose administrator has signed in to the console, with its seeded members. */
export interface ManyMembersPage {
  readonly page: Page
  readonly tenantId: string
  readonly members: number
  /** Seeded numbers: above `first`, up to `first + members`. */
  readonly first: number
  readonly rareRoleIds: readonly string[]
}

export interface MembersConsole {
  readonly story: ConsoleStory
  /** Signs the administrator of a new tenant in, and seeds its members. Numbers of members continue from one tenant to the next. */
  addTenant(name: string, members: number): Promise<ManyMembersPage>
  /** Adds roles to a tenant. @returns The id of the oldest. */
  addRoles(tenantId: string, count: number): Promise<string>
  close(): Promise<void>
}

/** Members of each rare role. */
export const rareMembers = 2
/** More than the rounds of one visit, so that no answer is in the page already. */
const rareRoles = 24

/** @param databaseUrl An empty database of PostgreSQL. */
export async function openMembersConsole(databaseUrl: string): Promise<MembersConsole> {
  const story = await openConsole({ SIGNET_PROFILE: "development", DATABASE_URL: databaseUrl })
  const { url } = story.program
  const database = openPostgres(databaseUrl, { maxConnections: 1, statementSeconds: 3_600 })
  const { clients, root: rootNow } = await administratorOf(url)
  let first = 0
  return {
    story,
    async addTenant(name, members) {
      const root = await rootNow()
      const { tenant } = await clients.admin.createTenant({ appId, tenant: { name } }, root)
      const tenantId = tenant?.id ?? ""
      const [commonRoleId = "", ...rareRoleIds] = await makeRoles(clients, root, tenantId)
      const roles = { commonRoleId, rareRoleIds, perRareRole: rareMembers }
      const numbers = { from: first, to: first + members }
      const page = await openTenant(story, clients, root, tenantId)
      await addManyMembers(database.db, { appId, tenantId, ...roles, ...numbers, issuer: `${url}/dev/idp-a` })
      const seeded = { page, tenantId, members, first, rareRoleIds }
      first += members
      return seeded
    },
    addRoles: (tenantId, count) => addManyRoles(database.db, { appId, tenantId, count }),
    async close() {
      await database.close()
      await story.close()
    },
  }
}

type Options = { headers: Record<string, string> }

async function makeRoles({ admin }: Clients, root: Options, tenantId: string): Promise<readonly string[]> {
  const ids: string[] = []
  for (const key of ["common", ...Array.from({ length: rareRoles }, (_, i) => `rare${i}`)]) {
    const { role } = await admin.createRole({ appId, role: { tenantId, key } }, root)
    ids.push(role?.id ?? "")
  }
  return ids
}

async function openTenant(story: ConsoleStory, clients: Clients, root: Options, tenantId: string): Promise<Page> {
  const asked = { appId, tenantId, scopes: [...administrationScopes] }
  const { code } = await clients.admin.inviteMember(asked, root)
  const context = await story.browser.newContext({ viewport: { width: 1280, height: 800 } })
  context.setDefaultTimeout(90_000)
  const page = await story.watched.open(context, `${story.program.url}/console?sign-in=${tenantId}`)
  await page.getByLabel("Invitation code").fill(code)
  await signIn(page, `kim-${tenantId}@example.com`, "Kim")
  await page.getByRole("heading", { name: "Overview" }).waitFor()
  return page
}

/** An interaction is done with these numbers of elements by selector, and with no part of the page still loading. */
type Done = readonly (readonly [selector: string, count: number])[]

export interface Interaction {
  readonly name: string
  /** Brings the page to where the interaction begins. */
  prepare(at: ManyMembersPage, round: number): Promise<unknown>
  act(at: ManyMembersPage, round: number): Promise<unknown>
  done(at: ManyMembersPage): Done
}

const rows = (label: string) => `section[aria-label="${label}"] tbody tr`
const parts = (page: Page) => page.getByRole("navigation", { name: "Parts of the app" })

async function openPart(page: Page, part: string): Promise<void> {
  await parts(page).getByRole("link", { name: part }).click()
  await page.locator(rows(part)).first().waitFor()
}

/** Searches for another member in each round, so that no answer is in the page already. */
const memberOf = ({ first, members }: ManyMembersPage, round: number): number => first + 1 + ((round * 37) % members)

/** In the order of a visit: each begins where the one before it has ended. */
export const interactions: readonly Interaction[] = [
  {
    name: "first page",
    prepare: ({ page }) => page.locator(rows("Roles")).first().waitFor(),
    act: ({ page }) => parts(page).getByRole("link", { name: "Members" }).click(),
    done: () => [[rows("Members"), 50]],
  },
  {
    name: "next page",
    prepare: ({ page }) => page.getByRole("button", { name: "Show more" }).scrollIntoViewIfNeeded(),
    act: ({ page }) => page.getByRole("button", { name: "Show more" }).click(),
    done: () => [[rows("Members"), 100]],
  },
  {
    name: "search",
    prepare: (at, round) => at.page.getByRole("searchbox").fill(emailOfMember(memberOf(at, round))),
    act: ({ page }) => page.getByRole("searchbox").press("Enter"),
    done: () => [["ul.cards > li", 1]],
  },
  {
    name: "one member",
    prepare: async () => undefined,
    act: ({ page }) => page.locator("ul.cards a").click(),
    done: () => [
      [rows("Members"), 1],
      [rows("Grants"), 1],
    ],
  },
  {
    name: "grants of a role",
    async prepare({ page }) {
      await page.getByRole("link", { name: "This tenant" }).click()
      await openPart(page, "Grants")
      await page.getByRole("combobox", { name: "Role" }).click()
      await page.getByRole("option").first().waitFor()
    },
    act: ({ page, rareRoleIds }, round) =>
      page.getByRole("option", { name: `rare${round % rareRoleIds.length}`, exact: true }).click(),
    done: () => [[rows("Grants"), rareMembers]],
  },
]

/** From the list of many roles, in the order of a visit. The last reads the roles of the picker. */
export const roleInteractions: readonly Interaction[] = [
  {
    name: "next roles",
    prepare: ({ page }) => page.getByRole("button", { name: "Show more" }).scrollIntoViewIfNeeded(),
    act: ({ page }) => page.getByRole("button", { name: "Show more" }).click(),
    done: () => [[rows("Roles"), 100]],
  },
  {
    name: "grants with the role picker",
    prepare: async () => undefined,
    act: ({ page }) => parts(page).getByRole("link", { name: "Grants" }).click(),
    done: () => [[rows("Grants"), 50]],
  },
]

export interface Cost {
  /** From the input's own time to the frame that shows the result. */
  readonly ms: number
  /** Administrative calls of the API. */
  readonly requests: number
  /** Of their compressed answers. */
  readonly bytes: number
  /** Rows of all tables in the document. */
  readonly rows: number
}

/** Without refreshes of tokens, whose times do not depend on the interaction. */
const administrative = /\/signet\.auth\.v1\.(AppAuthService|AuditService)\//

/** Prepares, acts, and measures until the result is painted. */
export async function interact(interaction: Interaction, at: ManyMembersPage, round: number): Promise<Cost> {
  const { page } = at
  await interaction.prepare(at, round)
  await quiet(page)
  const answers: Promise<number>[] = []
  const count = (request: Request) => {
    if (administrative.test(request.url())) answers.push(request.sizes().then((sizes) => sizes.responseBodySize))
  }
  page.on("requestfinished", count)
  // The page listens before the input: the promise is awaited after it.
  const painted = page.evaluate(untilPainted, { done: interaction.done(at), mostMs })
  await interaction.act(at, round)
  const ms = await painted
  await quiet(page)
  page.off("requestfinished", count)
  const bytes = (await Promise.all(answers)).reduce((sum, size) => sum + size, 0)
  return { ms, requests: answers.length, bytes, rows: await page.locator("tbody tr").count() }
}

/** Waits for a second without a request. The page's own state of a quiet network lasts until its next address. */
async function quiet(page: Page): Promise<void> {
  let lastMs = Date.now()
  const mark = () => {
    lastMs = Date.now()
  }
  page.on("request", mark).on("requestfinished", mark)
  while (Date.now() - lastMs < 1_000) await page.waitForTimeout(100)
  page.off("request", mark).off("requestfinished", mark)
}

/** Goes to where the first interaction begins. @param options.reload Loads the page again, with nothing that it has read. */
export async function openRoles({ page }: ManyMembersPage, options: { reload?: boolean } = {}): Promise<void> {
  if (options.reload) await page.goto(new URL("/console", page.url()).href)
  await page.getByRole("link", { name: "This tenant" }).click()
  await openPart(page, "Roles")
}

/** A page that shows an error, for example, is never done. */
const mostMs = 60_000

/** Runs in the page. @returns Milliseconds from the next input to the frame after the result is in the document. */
function untilPainted({ done, mostMs }: { done: Done; mostMs: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    setTimeout(
      () => reject(new Error(`not done after ${mostMs} ms: ${document.querySelector("main")?.textContent}`)),
      mostMs,
    )
    let begun: number | undefined
    const begin = (event: Event) => {
      begun ??= event.timeStamp
    }
    const inputs = ["click", "keydown", "input"]
    for (const name of inputs) addEventListener(name, begin, { capture: true })
    const isDone = () =>
      document.querySelector("main .signet-loading") === null &&
      done.every(([selector, count]) => document.querySelectorAll(selector).length === count)
    const watch = new MutationObserver(() => {
      if (begun === undefined || !isDone()) return
      watch.disconnect()
      for (const name of inputs) removeEventListener(name, begin, { capture: true })
      const from = begun
      // A task that is queued in a frame runs after the frame is painted.
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = () => resolve(performance.now() - from)
        port2.postMessage(null)
      })
    })
    watch.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
  })
}
