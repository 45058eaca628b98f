// A context's administrator in the console: the sign-in, what the pages show, which calls they make, and the API's attack
// list with the page's own token. Another context of the same tenant, and another tenant, stay hidden.

import { deviceScopes } from "@signet/kernel/administration/scopes"
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
  placeText,
} from "../support/console-place.ts"
import { isLong } from "../support/effort.ts"

const title = `a context's administrator in the console${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const app = `/apps/${developmentAppId}`

describe.skipIf(chromiumMissing !== undefined || !isLong)(title, () => {
  let place: PlaceStory
  beforeAll(async () => {
    place = await openPlace({ level: "context", scopes: deviceScopes })
  }, 600_000)
  afterAll(() => place?.story.close())
  const main = () => place.page.locator("main")
  const menu = (group: number) => place.page.locator("nav#menu ul").nth(group).getByRole("link").allInnerTexts()

  test("is offered the pages that the token reaches, and nothing else", async () => {
    const { page } = place
    expect(await menu(0)).toEqual(["Overview", "People", "This context", "Delegation"])
    expect(await menu(1)).toEqual(["Activity", "Audit", "Why?", "Signing keys", "Health"])
    await page.getByRole("link", { name: "This context" }).click()
    await page.getByRole("heading", { name: "Kew garden" }).waitFor()
    const parts = await page.getByRole("navigation", { name: "Parts of the app" }).getByRole("link").allInnerTexts()
    expect(parts).toEqual(["Contexts", "Members", "Invitations", "Roles", "Permissions", "Grants"])
    for (const [path, name] of [
      ["contexts", "Create context"],
      ["roles", "Create role"],
      ["roles", "Edit"],
      ["permissions", "Create permission"],
    ] as const) {
      await place.read(`${app}/${path}`)
      expect([path, name, await page.getByRole("button", { name, exact: true }).count()]).toEqual([path, name, 0])
    }
  })

  test("sees the context, nothing beside it, and no page that it is offered makes a refused call", async () => {
    const { ids } = place.mine
    await expectScreens(place, [
      ["", "Kew garden"],
      [`${app}/contexts`, "Kew garden"],
      [`${app}/members`, ids.context_id],
      [`${app}/invitations`, ids.invitation_id],
      [`${app}/roles`, "role"],
      [`${app}/permissions`, ids.permission_key],
      [`${app}/grants`, ids.principal_id],
      ["/people?find=bob@example.com", ids.context_id],
      [`/people/${ids.principal_id}`, ids.context_id],
      ["/delegations", "What you have allowed"],
      ["/activity", "Sign-ins"],
      ["/audit", "membership.accepted"],
      ["/why", "Explain"],
      ["/keys", "Access tokens"],
      ["/account", "kim@example.com"],
    ])
  })

  test("verifies the part of the tenant's chain that it may read", async () => {
    await place.read("/audit")
    await place.page.getByRole("button", { name: "Verify the chain in this browser" }).click()
    await place.page.locator(".verified-whole").waitFor()
  })

  test("a page of another level, opened by its address, says so and calls nothing", async () => {
    const { read, refused, mine } = place
    refused.length = 0
    for (const path of [`/apps`, `${app}/settings`, `${app}/connections`]) {
      expect([path, await read(path)]).toEqual([path, expect.stringContaining("for administrators of a whole app")])
    }
    for (const path of [`${app}/tenants`, "/services"]) {
      expect([path, await read(path)]).toEqual([path, expect.stringContaining("for administrators of a tenant")])
    }
    expect(await read("/limits")).toContain("for administrators of the installation")
    expect(await main().textContent()).toContain(mine.ids.context_id)
    expect(refused).toEqual([])
  })

  test("an address of another context's object shows the same as one that does not exist", async () => {
    await expectMissing(place, [
      (ids) => `/people/${ids.principal_id}`,
      () => "/people?find=eve@example.com",
      () => "/people?find=oli@example.com",
      (ids) => `/audit?principal=${ids.principal_id}`,
      (ids) => `/audit?target=${ids.membership_id}`,
      (_, event) => `/why?event=${event}`,
    ])
  })

  test("a form that names another context is refused in plain words, and changes nothing there", async () => {
    const { page, read } = place
    const dialog = page.getByRole("dialog")
    await expectRefusedForms(place, [
      { path: `${app}/members`, open: "Invite", send: "Invite" },
      { path: `${app}/contexts`, open: "Suspend", send: "Suspend" },
    ])
    // The same form works where the token administers.
    await read(`${app}/members`)
    await page.getByRole("button", { name: "Invite", exact: true }).click()
    await dialog.getByRole("button", { name: "Invite", exact: true }).click()
    await dialog.getByText("sginv_").waitFor()
  })

  test("the API's attack list with the page's token: another context's ids answer as missing ones", async () => {
    expect(await attackWithToken(place)).toBeGreaterThan(50)
  })

  test("changes to the app as a whole, and back, with other sign-ins of the same person", async () => {
    const { page, read } = place
    await read("")
    const dialog = page.getByRole("dialog")
    await page.getByRole("button", { name: "Sign in there" }).click()
    await dialog.getByRole("button", { name: "Sign in with Stand-in" }).click()
    // The provider knows the person, and asks nothing.
    await page.getByText("Your membership has no administrative scope").waitFor()
    await page.getByRole("button", { name: "Sign in there" }).click()
    await dialog.getByRole("button", { name: "Sign in with Stand-in" }).click()
    await page.getByRole("heading", { name: "Kew garden" }).waitFor()
  })

  test("signs out, and the browser remembers the context for the next sign-in", async () => {
    const { page, mine } = place
    await page.getByRole("button", { name: "kim@example.com" }).click()
    await page.getByRole("button", { name: "Sign out", exact: true }).click()
    await expect.poll(() => page.getByLabel("Tenant or context").inputValue()).toBe(placeText(mine, "context"))
    await page.getByRole("button", { name: "Sign in with Stand-in" }).click()
    await page.getByRole("heading", { name: "Kew garden" }).waitFor()
  })

  test("no page reported a violation of its policy, or an error", () => {
    expect(place.story.watched.violations).toEqual([])
    expect(place.story.watched.errors).toEqual([])
  })
})
