// A tenant's administrator in the console: what the pages show, which calls they make, and the API's attack list with
// the page's own token.
import { expect, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import { describePlace, enterWholeApp } from "../support/console-place-suite.ts"

const app = `/apps/${developmentAppId}`

describePlace(
  {
    level: "tenant",
    claims: {
      missing: "an address of another tenant's object shows the same as one that does not exist",
      attack: "the API's attack list with the page's token: another tenant's ids answer as missing ones",
    },
    menu: ["Service accounts", "Delegation"],
    heading: "Kew",
    parts: ["Tenants", "Contexts", "Members", "Invitations", "Roles", "Permissions", "Grants"],
    missingButtons: [["tenants", "Create tenant"]],
    screens: (ids) => [
      ["", ids.tenant_id],
      [`${app}/tenants`, "Kew"],
      [`/tenants/${ids.tenant_id}`, "Kew"],
      [`${app}/contexts`, "Kew garden"],
      [`${app}/members`, ids.tenant_id],
      ["/people?find=bob@example.com", ids.principal_id],
      [`/people/${ids.principal_id}`, ids.tenant_id],
      ["/services", "No service account yet."],
      ["/delegations", "No service may act for the people of this app."],
    ],
    others: {
      "a whole app": ["/apps", `${app}/settings`, `${app}/connections`],
      "the installation": ["/limits"],
    },
    missing: [
      (ids) => `/tenants/${ids.tenant_id}`,
      (ids) => `${app}/members/${ids.tenant_id}`,
      (ids) => `${app}/contexts/${ids.tenant_id}`,
      (ids) => `/audit?tenant=${ids.tenant_id}`,
      (ids) => `/audit?target=${ids.role_id}`,
    ],
    forms: [
      {
        ...{ path: `${app}/contexts`, open: "Create context", send: "Create context" },
        fields: [
          ["Name", "taken"],
          ["Type", "project"],
        ],
      },
      { path: `${app}/roles`, open: "Create role", fields: [["Role", "taken"]], send: "Save" },
      { path: `${app}/tenants`, open: "Suspend", send: "Suspend" },
    ],
    async works({ page, read }) {
      await read(`${app}/roles`)
      await page.getByRole("button", { name: "Create role" }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByLabel("Role", { exact: true }).fill("gardener")
      await dialog.getByRole("button", { name: "Save" }).click()
      await page.getByText("gardener").waitFor()
    },
    fewestCalls: 40,
  },
  (place) => {
    test("changes to the app as a whole, and back, with another sign-in of the same person", async () => {
      const { page, mine } = place()
      await enterWholeApp(place())
      expect(await page.getByRole("link", { name: "Audit", exact: true }).count()).toBe(0)
      await page.getByRole("button", { name: "Sign in there" }).waitFor()
      expect(await page.locator("main").textContent()).toContain(mine.ids.tenant_id)
    })
  },
)
