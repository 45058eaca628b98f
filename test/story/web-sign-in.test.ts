// A web app in Chromium against the development profile: with Vite's default origin, and `npm start`.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import { chromiumMissing, launchChromium, servePage } from "../support/chromium.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"

const title = `a web app in Chromium${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
/** Vite's default origin. */
const vite = "http://localhost:5173"
const elsewhere = "http://localhost:6200"
/** The app's origins in the browser: all lead to one server, whatever else uses those ports on this machine. */
const origins = [vite, elsewhere, "http://127.0.0.1:5173", "http://localhost:3000"]

describe.skipIf(chromiumMissing !== undefined || !isLong)(title, () => {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-web-"))
  let program: RunningProgram
  let browser: Browser
  let served: Awaited<ReturnType<typeof servePage>>
  beforeAll(async () => {
    program = await startProgram({ PORT: "0", SIGNET_DATA: folder, SIGNET_LIMITS: "off" })
    const settings = { appId: developmentAppId, authBaseUrl: program.url }
    const page = join(import.meta.dirname, "../interop/browser/sign-in-page.ts")
    served = await servePage(page, undefined, `window.settings = ${JSON.stringify(settings)}`)
    const rules = origins.map((origin) => `MAP ${new URL(origin).host} ${new URL(served.origin).host}`)
    browser = await launchChromium({ hasBackForwardCache: true, args: [`--host-resolver-rules=${rules.join(",")}`] })
  })
  afterAll(async () => {
    await browser?.close()
    served?.close()
    await program?.end("SIGTERM")
    rmSync(folder, { recursive: true, force: true })
  })

  async function person(hasBox = false): Promise<BrowserContext> {
    const context = await browser.newContext()
    onTestFinished(() => context.close())
    context.setDefaultTimeout(15_000)
    if (hasBox) await context.addInitScript(() => Object.assign(window, { hasBox: true }))
    return context
  }
  async function openTab(context: BrowserContext, address = `${vite}/`): Promise<Page> {
    const tab = await context.newPage()
    await tab.goto(address)
    return tab
  }
  const seen = (tab: Page) => tab.evaluate(() => window.app.seen)
  const callback = (tab: Page) => tab.evaluate(() => window.app.callback())
  const token = (tab: Page) => tab.evaluate(() => window.app.token())
  /** Signs in at the provider's page under this address. */
  async function vouchFor(tab: Page, email: string): Promise<void> {
    await tab.waitForURL(/\/dev\/(idp-a|partner)\/sign-in\//)
    await tab.fill("input[name=email]", email)
    await tab.click("button")
  }
  async function redirect(tab: Page, email: string, options: { connection?: string; returnTo?: string } = {}) {
    await tab.evaluate((given) => void window.app.redirect(given), options)
    await vouchFor(tab, email)
    await tab.waitForURL(`${vite}/callback`)
  }
  /** Completes the provider's page, and intercepts its answer before the app gets it. */
  async function caughtAnswer(tab: Page, connection: string, email: string): Promise<URL> {
    await tab.evaluate(() => sessionStorage.setItem("hold", "1"))
    await tab.evaluate((given) => void window.app.redirect(given), { connection, prompt: "login" as const })
    await vouchFor(tab, email)
    await tab.waitForURL(`${vite}/callback?**`)
    await tab.evaluate(() => sessionStorage.removeItem("hold"))
    return new URL(tab.url())
  }

  test("the first visit reports signed out, and nothing else", async () => {
    const tab = await openTab(await person())
    await expect.poll(() => seen(tab)).toEqual(["starting", "NOT_SIGNED_IN"])
    // After `pageshow`, and after the page is shown again.
    await tab.evaluate(() => dispatchEvent(new PageTransitionEvent("pageshow")))
    await tab.waitForTimeout(200)
    expect(await seen(tab)).toEqual(["starting", "NOT_SIGNED_IN"])
    expect(await tab.evaluate(() => window.app.options())).toEqual([
      ": Stand-in",
      "partner: Partner stand-in",
      ": IDP_B",
      ": IDP_C",
    ])
  })

  test("a crafted address of the page does not prevent a sign-in", async () => {
    const tab = await openTab(await person(), `${vite}/?q=a\\b`)
    await redirect(tab, "crafted@example.com")
    expect(await callback(tab)).toBe("/")
    // Only the callback page reads an answer.
    await tab.goto(`${vite}/?code=made-up&state=made-up`)
    expect(await callback(tab)).toBe("none")
  })

  test("two connections sign in by redirect, across a reload and in a second tab, until they sign out", async () => {
    const context = await person()
    const tab = await openTab(context, `${vite}/notes?id=1#top`)
    await redirect(tab, "ada@example.com")
    expect(await callback(tab)).toBe("/notes?id=1#top")
    // A new page: it starts, and the callback signs in.
    expect(await seen(tab)).toEqual(["starting", "NOT_SIGNED_IN", "signedIn"])
    expect(await tab.evaluate(() => window.app.kept())).not.toMatch(/code=|"codeVerifier"|sgrt_|eyJ[\w-]+\.eyJ/)
    const [first] = await Promise.all([tab.evaluate(() => window.app.signet.session.current)])

    await tab.reload()
    expect(await callback(tab)).toBe("none")
    await expect.poll(() => seen(tab)).toEqual(["starting", "signedIn"])
    expect(await token(tab)).toBe("a token")

    const second = await openTab(context)
    await expect.poll(() => seen(second)).toEqual(["starting", "signedIn"])
    expect(await token(second)).toBe("a token")
    expect(await second.evaluate(() => window.app.logout())).toBe(true)
    await expect.poll(() => seen(tab)).toEqual(["starting", "signedIn", "LOGGED_OUT_ELSEWHERE"])

    // The same email address at the other connection is another person.
    await redirect(second, "ada@example.com", { connection: "partner", returnTo: "/partner" })
    expect(await callback(second)).toBe("/partner")
    const other = await second.evaluate(() => window.app.signet.session.current)
    expect([first?.is, other.is]).toEqual(["signedIn", "signedIn"])
    expect(JSON.stringify(other)).not.toBe(JSON.stringify(first))
  })

  test("a pop-up signs its opener in and closes; a pop-up that the person closes is a refusal", async () => {
    const context = await person()
    const tab = await openTab(context)
    // The second sign-in is of another person, in a page that is signed in.
    for (const email of ["grace@example.com", "ada@example.com"]) {
      const opened = context.waitForEvent("page")
      const done = tab.evaluate(() => window.app.popup({ connection: "partner", prompt: "login" }))
      const popup = await opened
      const closed = popup.waitForEvent("close")
      await vouchFor(popup, email)
      expect(await done).toBe(email)
      await closed
      expect(await token(tab)).toBe("a token")
    }

    const again = context.waitForEvent("page")
    const canceled = tab.evaluate(() => window.app.popup())
    const unwanted = await again
    await unwanted.waitForURL(/sign-in/)
    expect(await unwanted.evaluate(() => window.opener)).toBeNull()
    // The outcome of a sign-in in another tab is not the pop-up's.
    const other = await openTab(context)
    await redirect(other, "mallory@example.com")
    expect(await callback(other)).toBe("/")
    await tab.evaluate(() => {
      Object.assign(window, { looks: 0 })
      document.hasFocus = () => Object.assign(window, { looks: Reflect.get(window, "looks") + 1 }).looks > 2
    })
    await unwanted.close()
    expect(await canceled).toMatch(/^CANCELED: the window was closed/)
    // A severed window also looks closed, so the page waits until the person is back.
    expect(await tab.evaluate(() => Reflect.get(window, "looks"))).toBeGreaterThan(2)
    expect(await token(tab)).toBe("a token")
  })

  test("the app gets the provider's refusals, and an error for unknown connections", async () => {
    const tab = await openTab(await person())
    expect(await tab.evaluate(() => window.app.redirect({ connection: "okta" }))).toMatch(
      /^CONNECTION_UNKNOWN: .*partner/,
    )
    const popup = tab.evaluate(() => window.app.popup({ connection: "okta" }))
    expect(await popup).toMatch(/^CONNECTION_UNKNOWN/)
    await expect.poll(() => tab.context().pages().length).toBe(1)
    const blocked = tab.evaluate(() => {
      window.open = () => null
      return window.app.popup()
    })
    expect(await blocked).toMatch(/^POPUP_BLOCKED/)
    for (const returnTo of ["//evil.example", "https://evil.example", "/\\evil.example"]) {
      expect(await tab.evaluate((to) => window.app.redirect({ returnTo: to }), returnTo)).toMatch(
        /^RETURN_PATH_INVALID/,
      )
    }
    expect(new URL(tab.url()).origin).toBe(vite)
  })

  test("a forged answer, another issuer's answer and a replayed one sign nobody in", async () => {
    const context = await person()
    const tab = await openTab(context)
    // Login CSRF: an attacker's answer in the victim's browser would make the victim write into the attacker's account.
    const attacker = await openTab(await person())
    const theirs = await caughtAnswer(attacker, "", "mallory@example.com")
    const victim = await openTab(context, theirs.href)
    expect(await callback(victim)).toMatch(/^CALLBACK_INVALID/)
    expect(new URL(victim.url()).search).toBe("")
    expect(await token(victim)).toBe("NOT_SIGNED_IN")

    // Mix-up: one issuer's answer with the state of a sign-in at the other.
    const mine = await caughtAnswer(tab, "partner", "ada@example.com")
    const mixed = new URL(mine)
    mixed.searchParams.set("iss", `${program.url}/dev/idp-a`)
    await victim.goto(mixed.href)
    expect(await callback(victim)).toMatch(/^CALLBACK_ISSUER_MISMATCH/)
    await victim.goto(mine.href)
    expect(await callback(victim)).toMatch(/^CALLBACK_INVALID/)

    // The same without the issuer's name, which these providers always send.
    await tab.goto(`${vite}/`)
    const nameless = await caughtAnswer(tab, "", "ada@example.com")
    nameless.searchParams.delete("iss")
    await victim.goto(nameless.href)
    expect(await callback(victim)).toMatch(/^CALLBACK_ISSUER_MISMATCH/)

    // A good answer is accepted once: not again after a reload, from the history, or in another tab.
    await tab.goto(`${vite}/`)
    const good = await caughtAnswer(tab, "", "ada@example.com")
    await victim.goto(good.href)
    expect(await callback(victim)).toBe("/")
    for (const replay of [victim, await openTab(context)]) {
      await replay.goto(good.href)
      expect(await callback(replay)).toMatch(/^CALLBACK_INVALID/)
    }
    expect(await token(victim)).toBe("a token")
  })

  test("a page of another origin gets the missing setting, and signs nobody in", async () => {
    const context = await person()
    const tab = await openTab(context, `${elsewhere}/`)
    const [said = ""] = await tab.evaluate(() => window.app.options())
    expect(said).toMatch(/^ORIGIN_NOT_ALLOWED: .* add http:\/\/localhost:6200 to the app's allowedOrigins$/)
    expect(await tab.evaluate(() => window.app.redirect())).toMatch(/^ORIGIN_NOT_ALLOWED/)
    // An unreachable service is not reported as a missing origin.
    await context.route("**/.well-known/jwks.json", (route) => route.abort())
    expect(await tab.evaluate(() => window.app.options())).toEqual([expect.stringMatching(/^UNREACHABLE/)])
    expect(program.output()).toContain("http://localhost:6200")
  })

  const places: [string, boolean][] = [
    [vite, true],
    ["http://127.0.0.1:5173", false],
    ["http://localhost:3000", false],
  ]
  test.each(places)(
    "a page of %s (sealed box: %s) works with the address that `npm start` prints",
    async (origin, hasBox) => {
      expect(program.url).toMatch(/^http:\/\/127\.0\.0\.1:/)
      const context = await person(hasBox)
      const tab = await openTab(context, `${origin}/`)
      await tab.evaluate(() => void window.app.redirect({ returnTo: "/" }))
      await vouchFor(tab, "ada@example.com")
      await tab.waitForURL(`${origin}/callback`)
      expect(await callback(tab)).toBe("/")
      await tab.reload()
      expect(await token(tab)).toBe("a token")
      expect(await tab.evaluate(() => window.app.kept())).not.toMatch(/sgrt_|eyJ[\w-]+\.eyJ/)
    },
  )
})
