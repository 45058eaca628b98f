// Attacks on the console in Chromium: markup in every field that it shows, pages that frame it, and calls of other sites.
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import { chromiumMissing } from "../support/chromium.ts"
import {
  administratorOf,
  attack,
  type ConsoleStory,
  openConsole,
  secretPattern,
  signIn,
  tokenOf,
} from "../support/console.ts"
import { googleConnection } from "../support/console-filled.ts"
import { keptBy } from "../support/console-kept.ts"
import { isLong } from "../support/effort.ts"
import { request } from "../support/service-accounts.ts"

const title = `attacks on the console${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const app = `/auth/apps/${developmentAppId}`

describe.skipIf(chromiumMissing !== undefined || !isLong)(title, { timeout: 600_000 }, () => {
  let story: ConsoleStory
  /** Another site, which serves what a test sets. */
  let site: Server
  let siteUrl = ""
  let html = ""
  let token = ""
  let tenantId = ""
  beforeAll(async () => {
    story = await openConsole()
    await signIn(story.tab, "ada@example.com", attack)
    await story.heading("Overview")
    const invited = await fetch(`${story.program.url}/dev/console`, { method: "POST" })
    const { invitationCode } = (await invited.json()) as { invitationCode: string }
    const device = { label: attack, os: attack, appVersion: "<b>1" }
    token = await tokenOf(story.program.url, "ada@example.com", { invitationCode, device })
    site = createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end(html))
    await new Promise<void>((listening) => site.listen(0, "127.0.0.1", listening))
    siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    await story?.close()
    site?.close()
  })

  const call = async (path: string, body?: object): Promise<Record<string, unknown>> => {
    const response = await fetch(story.program.url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as Record<string, unknown>
    expect([path, response.status, answer]).toEqual([path, 200, answer])
    return answer
  }
  /** Nothing of the attack became an element, and no script ran. */
  const expectText = async (where: string) => {
    const { tab } = story
    await expect.poll(() => tab.locator("h1, [role=alert]").count(), { message: where, timeout: 30_000 }).not.toBe(0)
    await expect.poll(() => tab.locator(".signet-loading").count(), { timeout: 20_000 }).toBe(0)
    const found = await tab.evaluate(
      () => document.querySelectorAll("main img, main b, main iframe, main script").length,
    )
    expect([where, found, await tab.title()]).toEqual([where, 0, expect.not.stringMatching(/^xss/)])
  }

  test("names that are markup are shown as text on every screen", async () => {
    const { tab } = story
    const { tenant } = (await call(`${app}/tenants`, { tenant: { name: attack } })) as { tenant: { id: string } }
    tenantId = tenant.id
    await call(`${app}/contexts`, { context: { tenantId, type: "project", name: attack } })
    await call(`${app}/permissions`, { permission: { key: "notes.note.read", description: attack } })
    await call(`${app}/roles`, { role: { key: "reader", description: attack } })
    const shown: [string, boolean][] = [
      [`/apps/${developmentAppId}/tenants`, true],
      [`/apps/${developmentAppId}/contexts`, true],
      [`/apps/${developmentAppId}/roles`, true],
      [`/apps/${developmentAppId}/members`, false],
      ["/services", false],
      ["/account", false],
      ["/people?find=ada@example.com", true],
      ["/audit", false],
      ["/activity", false],
      ["/components", false],
    ]
    for (const [path, isShown] of shown) {
      await story.go(path)
      await expectText(path)
      if (isShown) await tab.getByText(attack, { exact: false }).first().waitFor()
    }
    await story.go("/people?find=ada@example.com")
    await tab.getByRole("link", { name: attack }).click()
    await story.heading("Sessions")
    await tab.getByText(attack, { exact: false }).first().waitFor()
    await expectText("/people/…")
  })

  test("texts that an administrator writes are shown as text: in lists, dialogs, refusals and at the sign-in", async () => {
    const { tab } = story
    const { clients, root } = await administratorOf(story.program.url)
    const options = await root()
    const { admin } = clients
    const appId = developmentAppId
    const displayName = attack.slice(0, 64)
    await admin.createProviderClient({ appId, providerClient: googleConnection(displayName) }, options)
    const { memberships } = await admin.listMemberships({ appId }, options)
    const { principalId = "", id: membershipId = "" } = memberships[0] ?? {}
    await admin.updateMembership({ appId, membershipId, membership: { profile: { name: attack } } }, options)
    const { roles } = await admin.listRoles({ appId }, options)
    const grant = { principalId, roleId: roles[0]?.id ?? "", reason: attack, resource: { type: "note", id: attack } }
    await admin.createGrant({ appId, ...grant }, options)
    const account = { ...request, name: attack, allowedAudiences: ["svc-notes"], scopes: ["notes.read"] }
    const { serviceAccount } = await clients.services.createServiceAccount(account, options)
    const policy = { audiences: ["svc-notes"], scopes: ["notes.read"], allowStanding: true }
    const actorPrincipalId = serviceAccount?.principalId ?? ""
    await clients.delegations.createDelegationPolicy({ ...policy, actorPrincipalId }, options)
    const pat = { name: attack, allowedAudiences: ["auth"], scopes: ["auth.apps.read"], expiresInDays: 1 }
    await clients.pats.createPat(pat, options)
    const opened: readonly (readonly [path: string, button?: string])[] = [
      [`/apps/${appId}/connections`],
      [`/apps/${appId}/connections`, "Edit"],
      [`/apps/${appId}/members`, "Edit"],
      [`/apps/${appId}/permissions`],
      [`/apps/${appId}/roles`, "Edit"],
      [`/apps/${appId}/tenants`, "Edit"],
      [`/apps/${appId}/tenants`, "Suspend"],
      [`/apps/${appId}/contexts`, "Archive"],
      [`/apps/${appId}/grants`],
      [`/apps/${appId}/grants`, "Revoke"],
      ["/services"],
      [`/services/${serviceAccount?.id}`, "Disable"],
      ["/delegations"],
      ["/delegations", "Stop"],
      ["/account"],
      ["/account", "Revoke"],
    ]
    for (const [path, button] of opened) {
      await story.go(path)
      await expectText(path)
      await tab.getByText(attack.slice(0, 20), { exact: false }).first().waitFor()
      if (button === undefined) continue
      await tab.locator("main").getByRole("button", { name: button, exact: true }).first().click()
      await tab.getByRole("dialog").waitFor()
      await expectText(`${path} ${button}`)
    }
    // A refusal names what was typed.
    await story.go("/services")
    await story.press("Create service account")
    const dialog = tab.getByRole("dialog")
    await dialog.getByLabel("Name", { exact: true }).fill("x")
    await dialog.getByLabel("Scopes", { exact: false }).fill("<b>scope</b>")
    await dialog.getByRole("button", { name: "Create service account" }).click()
    await dialog.getByRole("alert").waitFor()
    await expectText("a refused form")
    await story.go("/why")
    await tab.getByLabel("Against").selectOption("requirement")
    await tab.getByRole("textbox", { name: /^Requirement/ }).fill(JSON.stringify({ scope: attack }))
    await story.press("Explain")
    await tab.getByText("Denied.").waitFor()
    await expectText("an explanation")
    // The name of a connection is shown to people who are not signed in.
    const context = await story.browser.newContext()
    const page = await story.watched.open(context, `${story.program.url}/console`)
    await page.getByRole("button", { name: displayName.slice(0, 20) }).waitFor()
    expect([await page.locator("main img").count(), await page.title()]).toEqual([0, "Signet console"])
    await context.close()
  })

  test("the check finds markup: an element that a page inserts is found, and its script does not run", async () => {
    const { tab } = story
    const before = story.watched.violations.length
    await tab.evaluate((text) => document.querySelector("main")?.insertAdjacentHTML("beforeend", text), attack)
    await expect.poll(() => tab.locator("main img").count()).toBe(1)
    await expect.poll(() => story.watched.violations.length).toBeGreaterThan(before)
    expect(await tab.title()).not.toBe("xss")
    // The next steps report their own violations only.
    story.watched.violations.length = 0
  })

  test("an address that is markup or another site leads to no script and to no other site", async () => {
    const { tab } = story
    const typed = encodeURIComponent(attack)
    const paths = [
      `/people?find=${typed}&by=${typed}`,
      `/people/${typed}`,
      `/apps/${typed}`,
      `/services/${typed}`,
      `/audit?target=${typed}&kinds=${typed}&outcome=${typed}&from=${typed}`,
      `/why?event=${typed}`,
      `/${typed}`,
      `//evil.example/`,
      `/callback?code=${typed}&state=${typed}&error=${typed}`,
      `/people/${encodeURIComponent("javascript:document.title='xss'")}`,
    ]
    for (const path of paths) {
      await story.go(path)
      await expectText(path)
      expect([path, new URL(tab.url()).origin]).toEqual([path, story.program.url])
    }
    const links = await tab.evaluate(() => [...document.links].map(({ protocol }) => protocol))
    expect(links.filter((protocol) => !/^https?:$/.test(protocol))).toEqual([])
  })

  test("another site cannot frame the console or its chat", async () => {
    const page = await story.context.newPage()
    for (const path of ["/console", "/console/chat", "/console/account"]) {
      html = `<iframe src="${story.program.url}${path}"></iframe>`
      await page.goto(siteUrl)
      const frame = page.frames().find((one) => one !== page.mainFrame())
      await expect.poll(() => frame?.url()).toMatch(/^chrome-error:/)
    }
    await page.close()
  })

  test("another site cannot act with the console's cookie", async () => {
    const page = await story.context.newPage()
    const suspend = `${app}/tenants/${tenantId}:suspend`
    const targets = ["/auth/refresh", "/auth/logout", "/auth/logout-all", suspend, "/auth/pats"]
    html = `<body>${targets.map((path) => `<form method="post" enctype="text/plain" action="${story.program.url}${path}" target="f"><input name='{"a":"' value='"}'></form>`).join("")}<iframe name="f"></iframe>`
    await page.goto(siteUrl)
    const read = await page.evaluate(
      async ({ url, paths }) => {
        const answers = []
        for (const path of paths) {
          for (const mode of ["cors", "no-cors"] as const) {
            const headers = { "content-type": "text/plain" }
            const init = { method: "POST", mode, credentials: "include", headers, body: "{}" } as const
            const answer = await fetch(url + path, init).then(
              (response) => response.text(),
              () => "",
            )
            if (answer !== "") answers.push(answer)
          }
        }
        for (const form of document.forms) {
          form.submit()
          await new Promise((soon) => setTimeout(soon, 300))
        }
        return answers
      },
      { url: story.program.url, paths: targets },
    )
    expect(read).toEqual([])
    await page.close()
    const { tenant } = (await call(`${app}/tenants/${tenantId}`)) as { tenant: { status: string } }
    expect(tenant.status).toBe("ACTIVE")
    // The person is still signed in: no session was refreshed or ended by the other site.
    await story.go("")
    await story.heading("Overview")
  })

  test("no page reported a violation of its policy or an error, and none shows, stores or prints a token", async () => {
    const { tab, watched } = story
    expect(watched.violations).toEqual([])
    expect(watched.errors).toEqual([])
    expect(watched.said.filter((text) => secretPattern.test(text))).toEqual([])
    expect(watched.addresses.filter((address) => secretPattern.test(address))).toEqual([])
    for (const path of ["", "/account", "/people?find=ada@example.com", "/components"]) {
      await story.go(path)
      await expectText(path)
      expect(await tab.content()).not.toMatch(secretPattern)
    }
    const kept = await keptBy(tab)
    expect(kept).toContain("signet")
    expect(kept).not.toMatch(secretPattern)
    // The search sees a token, wherever a page would store one.
    await tab.evaluate(async (held) => {
      const opening = indexedDB.open("kept", 1)
      opening.onupgradeneeded = () => opening.result.createObjectStore("tokens").put(new TextEncoder().encode(held), 1)
      await new Promise((resolve) => {
        opening.onsuccess = resolve
      })
    }, token)
    expect(await keptBy(tab)).toMatch(secretPattern)
  })
})
