// A tenant's administrator in the console: what the pages show, which calls they make, and the API's attack list with
// the page's own token.

import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import { chromiumMissing } from "../support/chromium.ts"
import {
  attackWithToken,
  expectMissing,
  expectRefusedForms,
  expectScreens,
  openPlace,
  type PlaceStory,
} from "../support/console-place.ts"
import { isLong } from "../support/effort.ts"

const title = `a tenant's administrator in the console${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const app = `/apps/${developmentAppId}`

describe.skipIf(chromiumMissing !== undefined || !isLong)(title, () => {
  let place: PlaceStory
  beforeAll(async () => {
    place = await openPlace({ level: "tenant" })
  }, 600_000)
  afterAll(() => place?.story.close())
  const main = () => place.page.locator("main")

  test("is offered the pages that the token reaches, and nothing else", async () => {
    const { page } = place
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
    const { ids } = place.mine
    await expectScreens(place, [
      ["", ids.tenant_id],
      [`${app}/tenants`, "Kew"],
      [`${app}/contexts`, "Kew garden"],
      [`${app}/members`, ids.tenant_id],
      [`${app}/invitations`, ids.invitation_id],
      [`${app}/roles`, "role"],
      [`${app}/permissions`, ids.permission_key],
      [`${app}/grants`, ids.principal_id],
      ["/people?find=bob@example.com", ids.principal_id],
      [`/people/${ids.principal_id}`, ids.tenant_id],
      ["/services", "No service account yet."],
      ["/delegations", "Policies of the app"],
      ["/activity", "Sign-ins"],
      ["/audit", "membership.accepted"],
      ["/why", "Explain"],
      ["/keys", "Access tokens"],
      ["/account", "kim@example.com"],
    ])
  })

  test("a page of another level, opened by its address, says so and calls nothing", async () => {
    const { read, refused, mine } = place
    refused.length = 0
    for (const path of [`/apps`, `${app}/settings`, `${app}/connections`]) {
      expect([path, await read(path)]).toEqual([path, expect.stringContaining("for administrators of a whole app")])
    }
    expect(await read("/limits")).toContain("for administrators of the installation")
    expect(await main().textContent()).toContain(mine.ids.tenant_id)
    expect(refused).toEqual([])
  })

  test("an address of another tenant's object shows the same as one that does not exist", async () => {
    await expectMissing(place, [
      (ids) => `/people/${ids.principal_id}`,
      () => "/people?find=eve@example.com",
      (ids) => `${app}/members/${ids.tenant_id}`,
      (ids) => `${app}/contexts/${ids.tenant_id}`,
      (ids) => `/audit?tenant=${ids.tenant_id}`,
      (ids) => `/audit?principal=${ids.principal_id}`,
      (ids) => `/audit?target=${ids.role_id}`,
      (_, event) => `/why?event=${event}`,
    ])
  })

  test("a form that names another tenant is refused in plain words, and changes nothing there", async () => {
    const { page, read } = place
    const create = { open: "Create context", send: "Create context" }
    await expectRefusedForms(place, [
      { path: `${app}/members`, open: "Invite", send: "Invite" },
      {
        ...{ path: `${app}/contexts`, ...create },
        fields: [
          ["Name", "taken"],
          ["Type", "project"],
        ],
      },
      { path: `${app}/roles`, open: "Create role", fields: [["Role", "taken"]], send: "Save" },
      { path: `${app}/tenants`, open: "Suspend", send: "Suspend" },
    ])
    // The same forms work where the token administers.
    await read(`${app}/roles`)
    await page.getByRole("button", { name: "Create role" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Role", { exact: true }).fill("gardener")
    await dialog.getByRole("button", { name: "Save" }).click()
    await page.getByText("gardener").waitFor()
  })

  test("the API's attack list with the page's token: another tenant's ids answer as missing ones", async () => {
    expect(await attackWithToken(place)).toBeGreaterThan(40)
  })

  test("changes to the app as a whole, and back, with another sign-in of the same person", async () => {
    const { page, read, mine } = place
    await read("")
    await page.getByRole("button", { name: "Sign in there" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Sign in with Stand-in" }).click()
    // The provider knows the person, and asks nothing.
    await page.getByText("Your membership has no administrative scope").waitFor()
    expect(await page.getByRole("link", { name: "Audit", exact: true }).count()).toBe(0)
    await page.getByRole("button", { name: "Sign in there" }).waitFor()
    expect(await main().textContent()).toContain(mine.ids.tenant_id)
  })

  test("no page reported a violation of its policy, or an error", () => {
    expect(place.story.watched.violations).toEqual([])
    expect(place.story.watched.errors).toEqual([])
  })
})
