// Lists of many members in the console: what each interaction costs beside one of a small tenant. `npm run bench --
// console` measures the times.
import type { Locator } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
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
  roleInteractions,
} from "../support/console-members.ts"
import { effort, isLong } from "../support/effort.ts"
import { principalOfMember } from "../support/many-members.ts"
import { createTestDatabase, noPostgres, type TestDatabase } from "../support/postgres.ts"

const missing = chromiumMissing ?? noPostgres
const title = `many members in the console${missing ? ` (skipped: ${missing})` : ""}`
const few = 100
const manyRoles = 3_000
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
      // Memberships (also for the title), grants, sessions and events, and the names in the events.
      ["one member", 6, 6],
      // Grants, and the names of their members.
      ["grants of a role", 2, 2],
    ])
    for (const [name, [ofFew, ofMany]] of costs) {
      // Numbers of six digits in ids and addresses compress a little worse.
      expect([name, ofMany?.bytes]).toEqual([name, expect.toSatisfy((bytes) => bytes < (ofFew?.bytes ?? 0) * 1.5)])
      expect([name, ofMany?.bytes]).toEqual([name, expect.toSatisfy((bytes) => bytes < 20_000)])
      expect([name, ofMany?.rows]).toEqual([name, ofFew?.rows])
    }
    expect(costs.get("grants of a role")?.[1]?.rows).toBe(rareMembers)
  })

  test(`the server pages ${manyRoles} roles of a tenant, and the role picker costs no more than other lists`, async () => {
    const { page } = large
    const oldest = await opened.addRoles(large.tenantId, manyRoles)
    await openRoles(large, { reload: true })
    for (const interaction of roleInteractions) {
      const { requests, bytes } = await interact(interaction, large, 0)
      // Grants, and the names of their members. The picker reads its roles when it opens.
      const most = interaction.name.startsWith("grants") ? 2 : 1
      expect([interaction.name, requests]).toEqual([interaction.name, most])
      expect([interaction.name, bytes]).toEqual([interaction.name, expect.toSatisfy((size) => size < most * 15_000)])
    }
    const picker = page.getByRole("combobox", { name: "Role" })
    await picker.press("ArrowDown")
    for (const options of [40, 80]) {
      await expect.poll(() => page.getByRole("option").count()).toBe(options)
      // Over the field to the last option, which reads the next page.
      for (const key of ["ArrowUp", "ArrowUp"]) await picker.press(key)
    }
    // The oldest is found by the beginning of its key.
    await picker.fill(`many.${manyRoles}`)
    await expect.poll(() => page.getByRole("option").allTextContents()).toEqual([`many.${manyRoles}`])
    // An older role is granted from its own page, too, which the list of roles leads to.
    await page.goto(`${opened.story.program.url}/console/apps/${developmentAppId}/grants/${oldest}`)
    await page.getByRole("button", { name: "Grant a role" }).click()
    const dialog = page.getByRole("dialog")
    await expect.poll(() => dialog.getByRole("combobox", { name: "Role" }).inputValue()).toBe(`many.${manyRoles}`)
    await dialog.getByLabel("Principal", { exact: true }).fill(principalOfMember(large.first + 1))
    await dialog.getByRole("button", { name: "Grant a role" }).click()
    await expect.poll(() => page.locator('section[aria-label="Grants"] tbody tr').count()).toBe(1)
  })

  test("a list has at most ten pages in the document, and goes back to its beginning", async () => {
    const { page } = large
    const rows = (label: string) => page.locator(`section[aria-label="${label}"] tbody tr`)
    // Not the text of a row: a name comes after its id.
    const personIn = (row: Locator) => row.getByRole("link").first().getAttribute("href")
    const more = page.getByRole("button", { name: "Show more" })
    const restart = page.getByRole("button", { name: "First page" })
    // The two kinds of lists: of @signet/react, and of the console's own queries.
    for (const part of ["Members", "Grants"]) {
      await openRoles(large)
      await page.getByRole("navigation", { name: "Parts of the app" }).getByRole("link", { name: part }).click()
      await rows(part).nth(49).waitFor()
      const first = await personIn(rows(part).first())
      for (let pages = 2; pages <= 12; pages++) {
        const last = await personIn(rows(part).last())
        await more.click()
        await expect.poll(() => personIn(rows(part).last()), { timeout: 60_000 }).not.toBe(last)
        expect([part, pages, await rows(part).count()]).toEqual([part, pages, Math.min(pages, 10) * 50])
        expect([part, pages, await restart.count()]).toEqual([part, pages, pages > 10 ? 1 : 0])
      }
      await restart.click()
      await expect.poll(() => rows(part).count(), { timeout: 60_000 }).toBe(50)
      expect(await personIn(rows(part).first())).toBe(first)
      expect(await restart.count()).toBe(0)
    }
  })

  test("no page reported a violation of its policy, or an error", () => {
    expect(opened.story.watched.violations).toEqual([])
    expect(opened.story.watched.errors).toEqual([])
  })
})
