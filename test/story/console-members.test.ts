// Lists of many members in the console: what each interaction costs beside one of a small tenant. `npm run bench --
// console` measures the times.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { chromiumMissing } from "../support/chromium.ts"
import {
  type Cost,
  interact,
  interactions,
  type ManyMembersPage,
  type MembersConsole,
  openMembersConsole,
  openRoles,
  rareMembers,
} from "../support/console-members.ts"
import { effort, isLong } from "../support/effort.ts"
import { createTestDatabase, noPostgres, type TestDatabase } from "../support/postgres.ts"

const missing = chromiumMissing ?? noPostgres
const title = `many members in the console${missing ? ` (skipped: ${missing})` : ""}`
const few = 100
const many = effort(few, 20_000, 1_000_000)

describe.skipIf(missing !== undefined || !isLong)(title, { timeout: 3_600_000 }, () => {
  let database: TestDatabase
  let opened: MembersConsole
  let small: ManyMembersPage
  let large: ManyMembersPage
  beforeAll(async () => {
    database = await createTestDatabase()
    opened = await openMembersConsole(database.url)
    small = await opened.addTenant("Few", few)
    large = await opened.addTenant("Many", many)
  }, 3_600_000)
  afterAll(async () => {
    await opened?.close()
    await database?.drop()
  })

  test(`each interaction asks as much with ${many} members as with ${few}`, async () => {
    const costs = new Map<string, readonly Cost[]>()
    for (const at of [small, large]) {
      await openRoles(at, { reload: true })
      for (const interaction of interactions) {
        const cost = await interact(interaction, at, 0)
        costs.set(interaction.name, [...(costs.get(interaction.name) ?? []), cost])
      }
    }
    const requests = [...costs].map(([name, [ofFew, ofMany]]) => [name, ofFew?.requests, ofMany?.requests])
    expect(requests).toEqual([
      ["first page", 1, 1],
      ["next page", 1, 1],
      ["search", 1, 1],
      // Memberships, grants with the names of their roles, sessions and events.
      ["one member", 5, 5],
      ["grants of a role", 1, 1],
    ])
    for (const [name, [ofFew, ofMany]] of costs) {
      // Numbers of six digits in ids and addresses compress a little worse.
      expect([name, ofMany?.bytes]).toEqual([name, expect.toSatisfy((bytes) => bytes < (ofFew?.bytes ?? 0) * 1.5)])
      expect([name, ofMany?.bytes]).toEqual([name, expect.toSatisfy((bytes) => bytes < 20_000)])
      expect([name, ofMany?.rows]).toEqual([name, ofFew?.rows])
    }
    expect(costs.get("grants of a role")?.[1]?.rows).toBe(rareMembers)
  })

  test("a list has at most ten pages in the document, and goes back to its beginning", async () => {
    const { page } = large
    const rows = (label: string) => page.locator(`section[aria-label="${label}"] tbody tr`)
    const more = page.getByRole("button", { name: "Show more" })
    const restart = page.getByRole("button", { name: "First page" })
    // The two kinds of lists: of @signet/react, and of the console's own queries.
    for (const part of ["Members", "Grants"]) {
      await openRoles(large)
      await page.getByRole("navigation", { name: "Parts of the app" }).getByRole("link", { name: part }).click()
      await rows(part).nth(49).waitFor()
      const first = await rows(part).first().textContent()
      for (let pages = 2; pages <= 12; pages++) {
        const last = await rows(part).last().textContent()
        await more.click()
        await expect.poll(() => rows(part).last().textContent(), { timeout: 60_000 }).not.toBe(last)
        expect([part, pages, await rows(part).count()]).toEqual([part, pages, Math.min(pages, 10) * 50])
        expect([part, pages, await restart.count()]).toEqual([part, pages, pages > 10 ? 1 : 0])
      }
      await restart.click()
      await expect.poll(() => rows(part).count(), { timeout: 60_000 }).toBe(50)
      expect(await rows(part).first().textContent()).toBe(first)
      expect(await restart.count()).toBe(0)
    }
  })

  test("no page reported a violation of its policy, or an error", () => {
    expect(opened.story.watched.violations).toEqual([])
    expect(opened.story.watched.errors).toEqual([])
  })
})
