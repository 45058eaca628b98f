// The account page and the devices of a member in Chromium: what each button does, as the API sees it afterwards.
import { readFileSync } from "node:fs"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { chromiumMissing } from "../support/chromium.ts"
import { bearer, protocols, refusal } from "../support/clients.ts"
import {
  type Administrator,
  administratorOf,
  axeFindings,
  type ConsoleStory,
  loginOf,
  openConsole,
  secretPattern,
  signIn,
  tokenOf,
} from "../support/console.ts"
import { isLong } from "../support/effort.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"

const title = `accounts and devices in the console${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`

const authorization = /\/dev\/idp-a\/auth\?.*max_age=2592000/

describe.skipIf(chromiumMissing !== undefined || !isLong)(title, () => {
  let story: ConsoleStory
  let administrator: Administrator
  /** Bob's own page. */
  let page: Page
  beforeAll(async () => {
    story = await openConsole()
    administrator = await administratorOf(story.program.url)
    await signIn(story.tab, "ada@example.com", "Ada")
    await story.heading("Overview")
  }, 600_000)
  afterAll(() => story?.close())

  const section = (name: string) => page.locator("section", { has: page.getByRole("heading", { name, exact: true }) })
  /** Opens the page after a new sign-in at the provider: some actions need a recent one. */
  const openAccount = async (change?: (address: string) => string) => {
    await page?.context().close()
    const context = await story.browser.newContext({ viewport: { width: 1280, height: 800 } })
    context.setDefaultTimeout(60_000)
    page = await story.watched.open(context, `${story.program.url}/console/account`)
    await page.getByLabel("Sign in as").selectOption("member")
    if (change !== undefined) {
      await page.route(authorization, (route) =>
        route.fulfill({ status: 302, headers: { location: change(route.request().url()) } }),
      )
    }
    await signIn(page, "bob@example.com", "Bob")
    await section("Your data").waitFor()
  }

  /** A device of Bob's that is registered, without a browser. */
  const registered = async (): Promise<TestDevice> => {
    const { url } = story.program
    const transport = protocols["Connect JSON over HTTP/1.1"]?.(url) ?? expect.fail()
    const { clients } = administrator
    let { accessToken, refreshToken } = await loginOf(url, "bob@example.com")
    const { principal } = await clients.auth.me({}, bearer(accessToken))
    const device = await newDevice(transport, {
      userId: principal?.id ?? "",
      get accessToken() {
        return accessToken
      },
      async refresh() {
        const next = await clients.auth.refresh({ refreshToken })
        refreshToken = next.refreshToken
        accessToken = next.accessToken
        return accessToken
      },
      again: () => expect.fail(),
    })
    await device.register()
    return device
  }

  test("an administrator sees a member's devices, and revokes one after a count and a question", async () => {
    const { tab } = story
    const device = await registered()
    await device.calls.keyPackages.getInventory({})
    await story.go(`/people/${device.userId}`)
    const row = tab.getByRole("row").filter({ hasText: device.id })
    await row.getByText("Active").waitFor()
    const dialog = tab.getByRole("dialog")
    for (const answer of ["Cancel", "Revoke"]) {
      await row.getByRole("button", { name: "Revoke", exact: true }).click()
      await dialog.getByText("1 device ends", { exact: false }).waitFor()
      await dialog.getByRole("button", { name: answer, exact: true }).click()
      if (answer === "Cancel") await device.calls.keyPackages.getInventory({})
    }
    await row.getByText("Revoked").first().waitFor()
    expect(await row.getByRole("button").count()).toBe(0)
    expect(await refusal(device.calls.keyPackages.getInventory({}))).toMatch(/DEVICE_|SESSION_REVOKED/)
  })

  test("a personal access token is shown once, works, and is refused after its revocation", async () => {
    await openAccount()
    const pats = section("Personal access tokens")
    await pats.getByRole("button", { name: "Create token" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Name", { exact: true }).fill("script")
    const create = dialog.getByRole("button", { name: "Create token" })
    expect(await create.isDisabled()).toBe(true)
    await dialog.getByLabel("auth.service_accounts.read").check()
    await create.click()
    await expect.poll(() => dialog.textContent()).toContain("sgpat_")
    const token = (await dialog.getByLabel("script").textContent()) ?? ""
    expect(token).toMatch(/^sgpat_/)
    expect(await axeFindings(page)).toEqual([])
    await dialog.getByRole("button", { name: "Close" }).click()
    await page.reload()
    const row = pats.getByRole("row").filter({ hasText: `…${token.slice(-4)}` })
    await row.waitFor()
    expect(await page.content()).not.toContain(token)

    const exchange = () => administrator.clients.pats.exchangePat({ pat: token })
    expect((await exchange()).audience).toBe("auth")
    await row.getByRole("button", { name: "Revoke" }).click()
    await dialog.getByText("1 token ends", { exact: false }).waitFor()
    await dialog.getByRole("button", { name: "Revoke", exact: true }).click()
    await row.getByText("Revoked").waitFor()
    expect(await refusal(exchange())).toBe("Unauthenticated PAT_INVALID")
  })

  test("an action that needs a recent sign-in offers one, at which the provider asks again", async () => {
    // A provider that does not state the time of the sign-in.
    await openAccount((address) => address.replace(/&max_age=\d+/, ""))
    const data = section("Your data")
    await data.getByRole("button", { name: "Export as JSON" }).click()
    await expect.poll(() => data.getByRole("alert").textContent()).toContain("STEP_UP_REQUIRED")
    await page.unroute(authorization)
    await data.getByRole("button", { name: "Sign in with Stand-in" }).click()
    await page.waitForURL(/\/dev\/idp-a\/sign-in\//)
    await page.fill("input[name=email]", "bob@example.com")
    await page.fill("input[name=name]", "Bob")
    await page.click("button")
    await page.waitForURL(/\/console\/account/)
    await Promise.all([page.waitForEvent("download"), data.getByRole("button", { name: "Export as JSON" }).click()])
  })

  test("the export has the person's own data and no secret", async () => {
    await openAccount()
    const data = section("Your data")
    const [download] = await Promise.all([
      Promise.race([
        page.waitForEvent("download"),
        data
          .getByRole("alert")
          .textContent()
          .catch(() => null),
      ]),
      data.getByRole("button", { name: "Export as JSON" }).click(),
    ])
    if (download === null || typeof download === "string") return expect.fail(download ?? "no download")
    expect(download.suggestedFilename()).toBe("signet-export.json")
    const text = readFileSync(await download.path(), "utf8")
    expect(JSON.parse(text)).toMatchObject({ identity: { primaryEmail: "bob@example.com" } })
    expect(text).not.toMatch(secretPattern)
    expect(text).not.toContain("ada@example.com")
  })

  test("the only linked account cannot be unlinked, and the page says why", async () => {
    await openAccount()
    const dialog = page.getByRole("dialog")
    await section("Linked accounts").getByRole("button", { name: "Unlink" }).click()
    await dialog.getByText("Other accounts that can: 0.", { exact: false }).waitFor()
    await dialog.getByRole("button", { name: "Unlink", exact: true }).click()
    await dialog.getByRole("alert").waitFor()
    await dialog.getByRole("button", { name: "Cancel" }).click()
    const { clients } = administrator
    const me = await clients.auth.me({}, bearer(await tokenOf(story.program.url, "bob@example.com")))
    expect(me.providerAccounts.length).toBe(1)
  })

  test("the deletion asks for a word, signs the person out, and a sign-in can cancel it", async () => {
    await openAccount()
    await section("Your data").getByRole("button", { name: "Delete account" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText(/sessions?, 0 personal access tokens end, in all apps\./).waitFor()
    const remove = dialog.getByRole("button", { name: "Delete account" })
    expect(await remove.isDisabled()).toBe(true)
    await dialog.getByLabel("Type", { exact: false }).fill("delete")
    await remove.click()
    await expect.poll(() => section("Your data").textContent()).toContain("The account will be erased on")
    await page.reload()
    await page.getByRole("button", { name: "Sign in with Stand-in" }).waitFor()
    expect(await tokenOf(story.program.url, "bob@example.com")).toBeUndefined()
    expect(await tokenOf(story.program.url, "bob@example.com", { cancelDeletion: true })).toMatch(/^eyJ/)
  })

  test("no page reported a violation of its policy, an error, or a secret", () => {
    expect(story.watched.violations).toEqual([])
    expect(story.watched.errors).toEqual([])
    expect(story.watched.said.filter((text) => secretPattern.test(text))).toEqual([])
    expect(story.watched.addresses.filter((address) => secretPattern.test(address))).toEqual([])
  })
})
