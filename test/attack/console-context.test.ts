// A context's administrator in the console: the sign-in, what the pages show, which calls they make, and the API's attack
// list with the page's own token. Another context of the same tenant, and another tenant, stay hidden.
import { deviceScopes } from "@signet/kernel/administration/scopes"
import { expect, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import { placeText } from "../support/console-place.ts"
import { describePlace, enterWholeApp } from "../support/console-place-suite.ts"

const app = `/apps/${developmentAppId}`

describePlace(
  {
    level: "context",
    claims: {
      missing: "an address of another context's object shows the same as one that does not exist",
      attack: "the API's attack list with the page's token: another context's ids answer as missing ones",
    },
    scopes: deviceScopes,
    menu: ["Delegation"],
    heading: "Kew garden",
    parts: ["Contexts", "Members", "Invitations", "Roles", "Permissions", "Grants"],
    missingButtons: [
      ["contexts", "Create context"],
      ["roles", "Create role"],
      ["roles", "Edit"],
      ["permissions", "Create permission"],
    ],
    screens: (ids) => [
      ["", "Kew garden"],
      [`${app}/contexts`, "Kew garden"],
      [`${app}/members`, ids.context_id],
      ["/people?find=bob@example.com", ids.context_id],
      [`/people/${ids.principal_id}`, ids.context_id],
      ["/delegations", "What you have allowed"],
    ],
    others: {
      "a whole app": ["/apps", `${app}/settings`, `${app}/connections`],
      "a tenant": [`${app}/tenants`, "/tenants/ten_1", "/services"],
      "the installation": ["/limits"],
    },
    missing: [() => "/people?find=oli@example.com", (ids) => `/audit?target=${ids.membership_id}`],
    forms: [{ path: `${app}/contexts`, open: "Suspend", send: "Suspend" }],
    async works({ page, read }) {
      const dialog = page.getByRole("dialog")
      await read(`${app}/members`)
      await page.getByRole("button", { name: "Invite", exact: true }).click()
      await dialog.getByRole("button", { name: "Invite", exact: true }).click()
      await dialog.getByText("sginv_").waitFor()
    },
    fewestCalls: 50,
  },
  (place) => {
    test("verifies the part of the tenant's chain that it may read", async () => {
      await place().read("/audit")
      await place().page.getByRole("button", { name: "Verify the chain in this browser" }).click()
      await place().page.locator(".verified-whole").waitFor()
    })

    test("changes to the app as a whole, and back, with other sign-ins of the same person", async () => {
      const { page } = place()
      await enterWholeApp(place())
      await page.getByRole("button", { name: "Sign in there" }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Sign in with Stand-in" }).click()
      await page.getByRole("heading", { name: "Kew garden" }).waitFor()
    })

    test("signs out, and the browser remembers the context for the next sign-in", async () => {
      const { page, mine } = place()
      await page.getByRole("button", { name: "kim@example.com" }).click()
      await page.getByRole("button", { name: "Sign out", exact: true }).click()
      await expect.poll(() => page.getByLabel("Tenant or context").inputValue()).toBe(placeText(mine, "context"))
      await page.getByRole("button", { name: "Sign in with Stand-in" }).click()
      await page.getByRole("heading", { name: "Kew garden" }).waitFor()
    })
  },
)
