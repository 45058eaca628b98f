// Finding a person and the reason of a denial in the console, with what an administrator types, and with no mouse.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import { chromiumMissing } from "../support/chromium.ts"
import { bearer } from "../support/clients.ts"
import {
  type Administrator,
  administratorOf,
  axeFindings,
  type ConsoleStory,
  openConsole,
  secretPattern,
  tokenOf,
} from "../support/console.ts"
import { pressByKey, tabTo, type Unseen } from "../support/console-keyboard.ts"
import { isLong } from "../support/effort.ts"

const title = `finding in the console${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const appId = developmentAppId

describe.skipIf(chromiumMissing !== undefined || !isLong)(title, () => {
  let story: ConsoleStory
  let administrator: Administrator
  let bob: { principalId: string; subject: string }
  beforeAll(async () => {
    story = await openConsole()
    administrator = await administratorOf(story.program.url)
    const me = await administrator.clients.auth.me({}, bearer(await story.memberToken()))
    bob = { principalId: me.principal?.id ?? "", subject: me.providerAccounts[0]?.subject ?? "" }
  }, 600_000)
  afterAll(() => story?.close())

  test("no mouse: signs in, finds a member, cancels a dialog and confirms it, and always shows the focus", async () => {
    const { tab } = story
    const unseen: Unseen = []
    const type = (text: string) => tab.keyboard.type(text)
    const button = (name: string) => tab.getByRole("button", { name, exact: true }).first()
    await pressByKey(tab, button("Sign in with Stand-in"), unseen)
    await tab.waitForURL(/\/dev\/idp-a\/sign-in\//)
    for (const [name, text] of [
      ["email", "ada@example.com"],
      ["name", "Ada"],
    ] as const) {
      await tabTo(tab, tab.locator(`input[name=${name}]`), unseen)
      await tab.keyboard.press("ControlOrMeta+a")
      await type(text)
    }
    await tab.keyboard.press("Enter")
    await story.heading("Overview")

    await tabTo(tab, tab.getByRole("searchbox"), unseen)
    await type("bob@example.com")
    await tab.keyboard.press("Enter")
    await pressByKey(tab, tab.locator("ul.cards a").first(), unseen)
    await tab.getByRole("rowheader", { name: "Unnamed device" }).waitFor()
    const dialog = tab.getByRole("dialog")
    await pressByKey(tab, button("Revoke all"), unseen)
    await dialog.getByText("1 session ends where you administer.").waitFor()
    await tab.keyboard.press("Escape")
    expect(await dialog.count()).toBe(0)
    // The focus is back at the button, and nothing has ended.
    await expect.poll(() => button("Revoke all").evaluate((at) => at === document.activeElement)).toBe(true)
    await tab.getByRole("rowheader", { name: "Unnamed device" }).waitFor()
    await tab.keyboard.press("Enter")
    // Tab stays inside of the dialog.
    for (let stops = 0; stops < 6; stops++) {
      await tab.keyboard.press("Tab")
      expect(await tab.evaluate(() => document.activeElement?.closest("dialog, body")?.tagName)).toMatch(/DIALOG|BODY/)
    }
    await pressByKey(tab, dialog.getByRole("button", { name: "Cancel" }), unseen, "Space")
    expect(await dialog.count()).toBe(0)
    await pressByKey(tab, button("Revoke all"), unseen)
    await pressByKey(tab, dialog.getByRole("button", { name: "Revoke all" }), unseen)
    await tab.getByText("No active session where you administer.").waitFor()
    // While a dialog is open, the browser sends no key to the search box.
    await dialog.waitFor({ state: "detached" })
    expect(unseen).toEqual([])
  })

  test("an address, a subject and an id find a person from the search box at once", async () => {
    const { tab } = story
    const lookUps: string[] = []
    tab.on("request", (request) => {
      if (request.url().endsWith("/FindUsers")) lookUps.push(request.url())
    })
    for (const [text, most] of [
      ["bob@example.com", 1],
      // A subject is at one of three providers.
      [bob.subject, 4],
    ] as const) {
      lookUps.length = 0
      await tab.getByRole("searchbox").fill(text)
      await tab.getByRole("searchbox").press("Enter")
      await tab.locator(`ul.cards a[href$="/people/${bob.principalId}"]`).waitFor()
      expect(await tab.locator("ul.cards > li").count()).toBe(1)
      expect([text, lookUps.length]).toEqual([text, expect.toSatisfy((count: number) => count <= most)])
      await story.go("")
    }
    await tab.getByRole("searchbox").fill(bob.principalId)
    await tab.getByRole("searchbox").press("Enter")
    await story.heading("Memberships")
    expect(new URL(tab.url()).pathname).toBe(`/console/people/${bob.principalId}`)
    const { clients, root } = administrator
    const { tenant } = await clients.admin.createTenant({ appId, tenant: { name: "Kew" } }, await root())
    await tab.getByRole("searchbox").fill(tenant?.id ?? "")
    await tab.getByRole("searchbox").press("Enter")
    await story.heading("Kew")
    await tab.locator("main").getByRole("link", { name: "Members" }).click()
    await tab.waitForURL(new RegExp(`/members/${tenant?.id}$`))
    await tab.getByRole("searchbox").fill("nobody-of-this-subject")
    await tab.getByRole("searchbox").press("Enter")
    await tab.getByText("Nobody was found.", { exact: false }).waitFor()
  })

  test("finds a role by the beginning of its key, for its own list and for a grant", async () => {
    const { tab } = story
    const { clients, root } = administrator
    const options = await root()
    // More than a page of the choice, so that the oldest is not among what it reads first.
    const keys = ["gardener.senior", "gardener.junior", ...Array.from({ length: 45 }, (_, i) => `porter_${i}`)]
    for (const key of keys) await clients.admin.createRole({ appId, role: { key } }, options)
    await story.go(`/apps/${appId}/roles`)
    const rows = tab.locator('section[aria-label="Roles"] tbody tr')
    await expect.poll(() => rows.count()).toBeGreaterThan(40)
    await story.fill("Find a role", "Gardener.")
    await expect
      .poll(() => rows.allTextContents())
      .toEqual([expect.stringContaining("gardener.junior"), expect.stringContaining("gardener.senior")])
    await story.fill("Find a role", "gardeners")
    await tab.getByText("No role has a key that begins so.").waitFor()
    await story.fill("Find a role", "%")
    await tab.getByText("No role has a key that begins so.").waitFor()
    expect(await tab.getByRole("alert").count()).toBe(0)

    await story.go(`/people/${bob.principalId}`)
    await story.press("Grant a role")
    const dialog = tab.getByRole("dialog")
    const choice = dialog.getByRole("combobox", { name: "Role" })
    const offered = dialog.getByRole("option")
    await choice.press("ArrowDown")
    await expect.poll(() => offered.count()).toBe(40)
    // From the first option over the field to the last one, which reads the next page.
    for (const key of ["ArrowUp", "ArrowUp"]) await choice.press(key)
    await expect.poll(() => offered.count()).toBeGreaterThan(40)
    await choice.fill("porter_7")
    await expect.poll(() => offered.allTextContents()).toEqual(["porter_7"])
    for (const key of ["ArrowDown", "Enter", "ControlOrMeta+a"]) await choice.press(key)
    // Over the key of the chosen role, which the search does not find.
    await choice.pressSequentially("gardener.s", { delay: 50 })
    await expect.poll(() => offered.allTextContents()).toEqual(["gardener.senior"])
    expect(await choice.inputValue()).toBe("gardener.s")
    expect(await axeFindings(tab)).toEqual([])
    await choice.press("ArrowDown")
    await choice.press("Enter")
    expect(await choice.inputValue()).toBe("gardener.senior")
    // Escape closes the list, and not the dialog.
    await choice.press("ArrowDown")
    await expect.poll(() => offered.count()).toBeGreaterThan(0)
    await choice.press("Escape")
    await expect.poll(() => offered.count()).toBe(0)
    await dialog.getByRole("button", { name: "Grant a role" }).click()
    await tab.locator('section[aria-label="Grants"] tbody tr').getByText("gardener.senior").waitFor()
    const { grants } = await clients.admin.listGrants({ appId, principalId: bob.principalId }, await root())
    expect(grants.map(({ roleKey }) => roleKey)).toEqual(["gardener.senior"])
  })

  test("explains a pasted token against a requirement and a resource that are typed", async () => {
    const { tab } = story
    const { clients, root } = administrator
    const options = await root()
    await clients.admin.createPermission({ appId, permission: { key: "notes.note.read" } }, options)
    const readers = { appId, role: { key: "reader", permissions: ["notes.note.read"] } }
    const { role } = await clients.admin.createRole(readers, options)
    const { principalId } = bob
    const resource = { type: "note", id: "n1" }
    await clients.admin.createGrant({ appId, principalId, roleId: role?.id ?? "", resource }, options)
    const token = await tokenOf(story.program.url, "bob@example.com", { audiences: ["svc-notes"] })

    await story.go("/why")
    const onNote = { resourceAction: { action: "notes.note.read", type: "note", from: "PATH", field: "id" } }
    const ask = async (requirement: object, tenantId = "") => {
      await tab.getByLabel("Access token").fill(token)
      await tab.getByLabel("Against").selectOption("requirement")
      await tab.getByRole("textbox", { name: /^Requirement/ }).fill(JSON.stringify(requirement))
      await story.fill("Resource type", "note")
      await story.fill("Resource id", "n2")
      await story.fill("Tenant", tenantId)
      await story.press("Explain")
    }
    const decided = () => tab.locator(".step-failed").textContent()
    await ask(onNote)
    await expect.poll(decided).toContain("6. Scopes, permissions and roles")
    // The facts: the resource that was asked for, and the grant that is on another one.
    for (const fact of ["MISSING_PERMISSION", "note n2 is in", "reader on note n1 in"]) {
      expect(await decided()).toContain(fact)
    }
    await tab.getByText("What would have to change:").waitFor()
    // The same resource in a tenant that the token is not for.
    await ask(onNote, `ten_${"0".repeat(26)}`)
    await expect.poll(decided).toContain("4. The place is right")
    await ask({ scope: "notes.read" })
    await tab.getByText("Allowed.").waitFor()
    expect(await tab.locator(".step-passed").count()).toBe(9)
    // The page has forgotten the token.
    expect(await tab.getByLabel("Access token").inputValue()).toBe("")
    expect(await tab.content()).not.toContain(token)

    await tab.getByRole("textbox", { name: /^Requirement/ }).fill('{"scop": 1}')
    await story.press("Explain")
    await tab.getByText("This is no requirement.", { exact: false }).waitFor()
  })

  test("no page reported a violation of its policy, an error, or a secret", () => {
    expect(story.watched.violations).toEqual([])
    expect(story.watched.errors).toEqual([])
    expect(story.watched.said.filter((text) => secretPattern.test(text))).toEqual([])
    expect(story.watched.addresses.filter((address) => secretPattern.test(address))).toEqual([])
  })
})
