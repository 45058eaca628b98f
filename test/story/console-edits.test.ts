// Connections, members, grants and places changed in the console's pages: a concurrent change is refused with what
// changed, nothing that a person typed is lost, and saving what was not changed changes nothing.
import type { Locator } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import { chromiumMissing } from "../support/chromium.ts"
import type { bearer, Clients } from "../support/clients.ts"
import { type Administrator, administratorOf, type ConsoleStory, openConsole, signIn } from "../support/console.ts"
import { type FilledApp, fillApp } from "../support/console-filled.ts"
import { isLong } from "../support/effort.ts"

const title = `edits in the console${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const appId = developmentAppId
type Options = ReturnType<typeof bearer>

interface Edited {
  readonly name: string
  readonly part: string
  /** A part of the row's text, whatever the record's name is. */
  readonly row: (ids: FilledApp) => string
  readonly label: string
  /** A record that a test reads and another administrator changes. */
  readonly read: (clients: Clients, options: Options, ids: FilledApp) => Promise<{ value: string; record: object }>
  readonly change: (clients: Clients, options: Options, ids: FilledApp, value: string) => Promise<unknown>
  /** Values that the two administrators type. */
  readonly values: readonly [theirs: string, mine: string]
}

const connectionOf = async ({ admin }: Clients, options: Options) =>
  (await admin.listProviderClients({ appId }, options)).providerClients.find(
    ({ connection }) => connection === "google",
  )

const edits: readonly Edited[] = [
  {
    ...{ name: "a connection", part: "connections", row: () => "google", label: "Name" },
    async read(clients, options) {
      const found = await connectionOf(clients, options)
      return { value: found?.displayName ?? "", record: { ...found } }
    },
    async change(clients, options, _, displayName) {
      const providerClientId = (await connectionOf(clients, options))?.id ?? ""
      await clients.admin.updateProviderClient({ appId, providerClientId, providerClient: { displayName } }, options)
    },
    values: ["Google of others", "Google of mine"],
  },
  {
    ...{ name: "a member", part: "members", row: ({ tenantId }) => tenantId, label: "Name that the app shows" },
    async read({ admin }, options, { membershipId }) {
      const { membership } = await admin.getMembership({ appId, membershipId }, options)
      return { value: membership?.profile?.name ?? "", record: { ...membership } }
    },
    change: ({ admin }, options, { membershipId }, name) =>
      admin.updateMembership({ appId, membershipId, membership: { profile: { name } } }, options),
    values: ["Bob of others", "Bob of mine"],
  },
  {
    ...{ name: "a tenant", part: "tenants", row: ({ tenantId }) => tenantId, label: "Name" },
    async read({ admin }, options, { tenantId }) {
      const { tenant } = await admin.getTenant({ appId, tenantId }, options)
      return { value: tenant?.name ?? "", record: { ...tenant } }
    },
    change: ({ admin }, options, { tenantId }, name) =>
      admin.updateTenant({ appId, tenantId, tenant: { name } }, options),
    values: ["Kew of others", "Kew of mine"],
  },
  {
    ...{ name: "a context", part: "contexts", row: ({ contextId }) => contextId, label: "Name" },
    async read({ admin }, options, { contextId }) {
      const { context } = await admin.getContext({ appId, contextId }, options)
      return { value: context?.name ?? "", record: { ...context } }
    },
    change: ({ admin }, options, { contextId }, name) =>
      admin.updateContext({ appId, contextId, context: { name } }, options),
    values: ["Garden of others", "Garden of mine"],
  },
  {
    ...{ name: "a role", part: "roles", row: () => "reader", label: "Description" },
    async read({ admin }, options, { roleId }) {
      const { role } = await admin.getRole({ appId, roleId }, options)
      return { value: role?.description ?? "", record: { ...role } }
    },
    change: ({ admin }, options, { roleId }, description) =>
      admin.updateRole({ appId, roleId, role: { description } }, options),
    values: ["Reads, say others", "Reads, say I"],
  },
]

describe.skipIf(chromiumMissing !== undefined || !isLong)(title, () => {
  let story: ConsoleStory
  let administrator: Administrator
  let ids: FilledApp
  let dialog: Locator
  beforeAll(async () => {
    story = await openConsole()
    administrator = await administratorOf(story.program.url)
    ids = await fillApp(administrator, story.program.url)
    dialog = story.tab.getByRole("dialog")
    await signIn(story.tab, "ada@example.com", "Ada")
    await story.heading("Overview")
  }, 600_000)
  afterAll(() => story?.close())
  const row = (text: string) => story.tab.getByRole("row").filter({ hasText: text }).first()

  test.each(edits)("$name: a concurrent change is refused with what changed, and nothing is lost", async (edit) => {
    const { clients } = administrator
    const options = await administrator.root()
    const read = () => edit.read(clients, options, ids)
    const [theirs, mine] = edit.values
    await story.go(`/apps/${appId}/${edit.part}`)
    const open = () => row(edit.row(ids)).getByRole("button", { name: "Edit", exact: true }).click()
    const field = dialog.getByLabel(edit.label, { exact: true })
    const save = dialog.getByRole("button", { name: "Save" })

    // Nothing is changed: nothing can be saved, also after a text that the person took back.
    const before = await read()
    await open()
    expect(await save.isDisabled()).toBe(true)
    await field.fill(mine)
    expect(await save.isDisabled()).toBe(false)
    await field.fill(before.value)
    expect(await save.isDisabled()).toBe(true)
    await field.press("Enter")
    expect(await read()).toEqual(before)

    await edit.change(clients, options, ids, theirs)
    const changed = await read()
    await field.fill(mine)
    await save.click()
    await expect.poll(() => dialog.textContent()).toContain("Somebody else has changed this since you opened it.")
    await dialog.getByRole("cell", { name: theirs }).waitFor()
    expect(await field.inputValue()).toBe(mine)
    expect(await read()).toEqual(changed)

    await dialog.getByRole("button", { name: "Load the current state" }).click()
    await expect.poll(() => field.inputValue()).toBe(theirs)
    expect(await save.isDisabled()).toBe(true)
    await field.fill(mine)
    await save.click()
    await expect.poll(() => dialog.count()).toBe(0)
    const after = await read()
    expect(after.value).toBe(mine)
    // Every other field is as it was.
    const others = ({ record }: typeof after) =>
      Object.entries(record).filter(([name]) => !/^(etag|updatedAt|displayName|profile|name|description)$/.test(name))
    expect(others(after)).toEqual(others(before))
    await row(mine).waitFor()
  })

  test("a member's scopes are changed, and the member is suspended, resumed and removed", async () => {
    const { clients } = administrator
    const options = await administrator.root()
    const { membershipId, tenantId } = ids
    const read = async () => (await clients.admin.getMembership({ appId, membershipId }, options)).membership
    await story.go(`/apps/${appId}/members/${tenantId}`)
    const press = (name: string) => row(tenantId).getByRole("button", { name, exact: true }).click()
    await press("Edit")
    await dialog.getByLabel("Scopes", { exact: false }).fill("auth.audit.read")
    await dialog.getByRole("button", { name: "Save" }).click()
    await expect.poll(() => dialog.count()).toBe(0)
    expect((await read())?.scopes).toEqual(["auth.audit.read"])
    for (const [action, status] of [
      ["Suspend", 4],
      ["Resume", 3],
      ["Remove", 5],
    ] as const) {
      await press(action)
      if (action !== "Resume") await dialog.getByRole("button", { name: action, exact: true }).click()
      await expect.poll(async () => (await read())?.status).toBe(status)
    }
  })

  test("a grant is made and revoked in the page, and a refused form keeps what was typed", async () => {
    const { clients } = administrator
    const options = await administrator.root()
    const { memberId: principalId, roleId } = ids
    const active = async () => {
      const { grants } = await clients.admin.listGrants({ appId, principalId, roleId }, options)
      return grants.filter(({ status, resource }) => status === 1 && resource?.id === "n7").length
    }
    await story.go(`/apps/${appId}/grants`)
    await story.press("Grant a role")
    await dialog.getByLabel("Principal", { exact: true }).fill("prn_nobody")
    await dialog.getByRole("combobox", { name: "Role" }).click()
    await dialog.getByRole("option", { name: "reader", exact: true }).click()
    await dialog.getByLabel("Resource type", { exact: true }).fill("note")
    await dialog.getByLabel("Resource id", { exact: true }).fill("n7")
    const send = dialog.getByRole("button", { name: "Grant a role" })
    await send.click()
    await dialog.getByRole("alert").waitFor()
    expect(await dialog.getByLabel("Resource id", { exact: true }).inputValue()).toBe("n7")
    await dialog.getByLabel("Principal", { exact: true }).fill(principalId)
    await send.click()
    await row("note n7").waitFor()
    expect(await active()).toBe(1)
    await row("note n7").getByRole("button", { name: "Revoke" }).click()
    await dialog.getByRole("button", { name: "Revoke", exact: true }).click()
    await expect.poll(active).toBe(0)
  })

  test("no page reported a violation of its policy, or an error", () => {
    expect(story.watched.violations).toEqual([])
    expect(story.watched.errors).toEqual([])
  })
})
