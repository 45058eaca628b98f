// The pictures of an app with many audit events: the service counts them, and the page says what it did not count.
import { sql } from "kysely"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import { type OpenDatabase, openPostgres } from "../../server/store/postgres/open.ts"
import { addEvents } from "../support/audit-events.ts"
import { chromiumMissing } from "../support/chromium.ts"
import { administratorOf, axeFindings, type ConsoleStory, openConsole, screenshot, signIn } from "../support/console.ts"
import { isLong, isNightly } from "../support/effort.ts"
import { createTestDatabase, noPostgres, type TestDatabase } from "../support/postgres.ts"

const missing = chromiumMissing ?? noPostgres
const title = `the console's pictures of many events${missing ? ` (skipped: ${missing})` : ""}`
const appId = developmentAppId
const hour = 3_600_000

describe.skipIf(missing !== undefined || !isLong)(title, { timeout: 600_000 }, () => {
  let database: TestDatabase
  let opened: OpenDatabase
  let story: ConsoleStory
  let counts: string[]
  beforeAll(async () => {
    database = await createTestDatabase()
    story = await openConsole({ SIGNET_PROFILE: "development", DATABASE_URL: database.url })
    opened = openPostgres(database.url, { maxConnections: 1, statementSeconds: 3_600 })
    await administratorOf(story.program.url)
    await signIn(story.tab, "ada@example.com", "Ada")
    await story.heading("Overview")
    const startMs = Date.now() - 20 * hour
    const add = (kind: string, count: number, of: Pick<Parameters<typeof addEvents>[1], "outcome" | "reason"> = {}) =>
      addEvents(opened.db, { appId, kind, count, startMs, everyMs: Math.floor((19 * hour) / count), ...of })
    await add("login.succeeded", 3_000)
    await add("login.failed", 1_200, { outcome: "FAILURE", reason: "PROVIDER_TOKEN_INVALID" })
    await add("authz.denied", 2_500, { outcome: "DENIED", reason: "MISSING_SCOPE" })
    await add("token.issued", 1_500)
    // A call that fails, as on a busy machine, is repeated.
    story.tab.on("response", (response) => {
      const called = /AuditService\/(\w+)/.exec(response.url())?.[1]
      if (called !== undefined && response.ok()) counts.push(called)
    })
  }, 600_000)
  afterAll(async () => {
    await story?.close()
    await opened?.close()
    await database?.drop()
  })

  /** Events of the last day in the database. */
  async function stored(condition: string): Promise<string> {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from audit_event
      where app_id = ${appId} and occurred_at > now() - interval '24 hours' and ${sql.raw(condition)}`.execute(
      opened.db,
    )
    return Intl.NumberFormat("en-US").format(rows[0]?.count ?? 0)
  }

  async function openPictures(): Promise<void> {
    counts = []
    await story.go("/activity")
    await story.tab.getByRole("img", { name: "Sign-ins" }).waitFor()
  }
  const numberOf = (name: string) =>
    story.tab.getByRole("row").filter({ has: story.tab.getByRole("rowheader", { name, exact: true }) })

  test("show the number of all sign-ins, denials and tokens of a day, from one call", async () => {
    await openPictures()
    const { tab } = story
    const legends = await tab.locator("figcaption .legend").allInnerTexts()
    expect(legends).toEqual([
      `Succeeded: ${await stored("kind = 'login.succeeded'")}`,
      `Failed: ${await stored("kind = 'login.failed'")}`,
    ])
    expect(await numberOf("PROVIDER_TOKEN_INVALID").first().textContent()).toContain("1,200")
    expect(await numberOf("MISSING_SCOPE").textContent()).toContain(
      await stored("outcome = 'DENIED' and reason = 'MISSING_SCOPE'"),
    )
    expect(await numberOf("Client credentials").textContent()).toContain("1,500")
    expect(await tab.locator(".notice").count()).toBe(0)
    expect(counts).toEqual(["CountAuditEvents"])
  })

  test("have a bar for each hour, and the numbers of the hours as a table", async () => {
    const { tab } = story
    await tab.getByText("As a table").click()
    const cells = await tab
      .locator("details tbody tr")
      .evaluateAll((rows) => rows.map((row) => Number(row.querySelector("td")?.textContent?.replace(",", ""))))
    // 3,000 in 19 hours, which touch 20 or 21 steps, beside the sign-in of the story.
    expect(cells.length).toBeGreaterThanOrEqual(20)
    expect(cells.reduce((sum, count) => sum + count, 0)).toBe(
      Number((await stored("kind = 'login.succeeded'")).replace(",", "")),
    )
    expect(await tab.locator("rect.bar-0[height='0']").count()).toBeLessThan(6)
  })

  test("show all of more events than one call counts", async () => {
    const startMs = Date.now() - 2 * hour
    await addEvents(opened.db, { appId, kind: "session.refreshed", startMs, everyMs: 20, count: 251_000 })
    await openPictures()
    expect(await numberOf("Refresh").textContent()).toContain(await stored("kind = 'session.refreshed'"))
    expect(await numberOf("PROVIDER_TOKEN_INVALID").first().textContent()).toContain("1,200")
    expect(await story.tab.locator(".notice").count()).toBe(0)
    expect(counts).toEqual(["CountAuditEvents", "CountAuditEvents"])
  })

  test.runIf(isNightly)("name the time before which the page counts nothing", async () => {
    const startMs = Date.now() - hour
    await addEvents(opened.db, { appId, kind: "session.refreshed", startMs, everyMs: 1, count: 2_100_000 })
    await openPictures()
    expect(await story.tab.locator(".notice").textContent()).toMatch(/^Events before .+ are not counted\.$/)
    expect(counts).toHaveLength(8)
    expect(await axeFindings(story.tab)).toEqual([])
    await screenshot(story.tab, "/activity of many events")
  })
})
