// The identity client in Chromium: with an HttpOnly cookie, and in tabs that share one sign-in.

import { join } from "node:path"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import type { ClientSettings } from "../interop/browser/client-settings.ts"
import type { IdentityPage } from "../interop/browser/identity-page.ts"
import { chromiumMissing, launchChromium, servePage } from "../support/chromium.ts"
import { effort, isLong } from "../support/effort.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

declare const identity: IdentityPage
type Served = Awaited<ReturnType<typeof servePage>>

const title = `the identity client in Chromium${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const elevenMinutes = 660_000

describe.skipIf(chromiumMissing !== undefined)(title, () => {
  let app: Served
  let neighbour: Served
  let server: TestServer
  let browser: Browser
  let jumpMs = 0
  beforeAll(async () => {
    const folder = join(import.meta.dirname, "../interop/browser")
    const pages = [join(folder, "identity-page.ts"), join(folder, "identity-worker.ts")] as const
    const launched = launchChromium({ hasBackForwardCache: true })
    // The neighbor has the same site and another origin.
    ;[app, neighbour] = await Promise.all([servePage(...pages), servePage(pages[0])])
    server = await startTestServer({ store: storyStore, settings: { allowedOrigins: [app.origin] } })
    browser = await launched
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
    app?.close()
    neighbour?.close()
  })

  const settings = (): ClientSettings => ({ appId: server.app.id, authBaseUrl: server.url, jumpMs })

  async function person(): Promise<BrowserContext> {
    const context = await browser.newContext()
    onTestFinished(() => context.close())
    return context
  }
  async function openTab(context: BrowserContext, change?: Partial<ClientSettings>): Promise<Page> {
    const tab = await context.newPage()
    await tab.goto(app.origin)
    await tab.evaluate((given) => identity.open(given), { ...settings(), ...change })
    return tab
  }
  async function signIn(tab: Page, subject: string): Promise<void> {
    const { credential } = await server.login(subject)
    await tab.evaluate((idToken) => identity.signIn(idToken), credential?.case === "idToken" ? credential.value : "")
  }
  /** Lets all access tokens expire. */
  async function expire(...tabs: Page[]): Promise<void> {
    jumpMs += elevenMinutes
    server.advance(elevenMinutes)
    for (const tab of tabs) await tab.evaluate((ms) => identity.jump(ms), jumpMs)
  }
  const token = (tab: Page) => tab.evaluate(() => identity.token())
  const seen = (tab: Page) => tab.evaluate(() => identity.seen())
  const refreshes = async () => {
    const rows = await server.store.db.selectFrom("audit_event").select("kind").execute()
    return rows.filter(({ kind }) => kind.startsWith("session.refresh")).length
  }

  test("a page signs in, calls over each protocol of a browser, and stores nothing that a script can use", async () => {
    const tab = await openTab(await person())
    await signIn(tab, "page")
    const [first, ...others] = await tab.evaluate(() => identity.whoAmI())
    expect(first).toMatch(/^prn_/)
    expect(others).toEqual([first, first])
    expect(await tab.evaluate(() => identity.kept())).not.toMatch(/sgrt_|eyJ[\w-]+\.eyJ/)
    expect(await tab.evaluate(() => identity.logout())).toBe(true)
    expect(await token(tab)).toBe("NOT_SIGNED_IN")
    expect(await seen(tab)).toEqual(["starting", "NOT_SIGNED_IN", "signedIn", "LOGGED_OUT"])
  })

  test.runIf(isLong)("two tabs and a service worker that need a token at the same time share one refresh", async () => {
    const context = await person()
    const here = await openTab(context)
    await signIn(here, "tabs")
    const there = await openTab(context)
    await expire(here, there)
    const before = await refreshes()
    const tokens = await Promise.all([
      token(here),
      token(there),
      here.evaluate((given) => identity.askWorker(given), settings()),
    ])
    expect(tokens[0]).toMatch(/^[\w-]{20}$/)
    expect(new Set(tokens).size).toBe(1)
    expect(await refreshes()).toBe(before + 1)

    await here.evaluate(() => identity.logout())
    await expect.poll(() => seen(there)).toEqual(["starting", "signedIn", "LOGGED_OUT_ELSEWHERE"])
  })

  test.runIf(isLong)(
    "forms and pages of another origin on the same site can neither refresh nor end a session",
    async () => {
      const context = await person()
      const tab = await openTab(context)
      await signIn(tab, "attacked")
      const attacker = await context.newPage()
      await attacker.goto(neighbour.origin)
      const before = await refreshes()
      const attempts = await attacker.evaluate(async ({ authBaseUrl, appId }) => {
        const body = JSON.stringify({ appId })
        const json = { "content-type": "application/json" }
        const send = (path: string, init: RequestInit) =>
          fetch(authBaseUrl + path, { method: "POST", credentials: "include", body, ...init }).then(
            ({ type, status }) => `${type} ${status}`,
            () => "refused",
          )
        const paths = ["/auth/session/refresh", "/auth/session/logout", "/signet.auth.v1.AuthService/Refresh"]
        return Promise.all(
          paths.flatMap((path) => [
            send(path, { headers: { ...json, "x-signet-client": "web" } }),
            send(path, { headers: json }),
            send(path, { mode: "no-cors", headers: { "content-type": "text/plain" } }),
          ]),
        )
      }, settings())
      expect(attempts.filter((each) => !/^(refused|opaque 0)$/.test(each))).toEqual([])
      await attacker.evaluate(({ authBaseUrl, appId }) => {
        document.body.innerHTML = `<form method="post" action="${authBaseUrl}/auth/session/logout"><input name="appId" value="${appId}"></form>`
        document.forms[0]?.submit()
      }, settings())
      await attacker.waitForURL(/logout/)
      expect(await refreshes()).toBe(before)
      await expire(tab)
      expect(await token(tab)).toMatch(/^[\w-]{20}$/)
    },
  )

  test.runIf(isLong)(
    "optionally the refresh token is encrypted under a non-extractable key, and is still there after a reload",
    async () => {
      const context = await person()
      const tab = await openTab(context, { hasBox: true })
      await signIn(tab, "box")
      await tab.reload()
      await tab.evaluate((given) => identity.open(given), { ...settings(), hasBox: true })
      expect(await token(tab)).toMatch(/^[\w-]{20}$/)
      expect(await seen(tab)).toEqual(["starting", "signedIn"])
      expect(await tab.evaluate(() => identity.kept())).not.toMatch(/sgrt_|eyJ[\w-]+\.eyJ/)
      expect(await context.cookies(server.url)).toEqual([])
      expect(await tab.evaluate(() => identity.stealKeys())).toEqual(["InvalidAccessError", "InvalidAccessError"])
      expect((await tab.evaluate(() => identity.raceOnStorage())).sort()).toEqual([false, true])
      expect(await tab.evaluate(() => identity.tryBox())).toBe("secret STATE_TAMPERED WRONG_USER SECURE_STORE_CHANGED")
    },
  )

  test.runIf(isLong)("a page outside a secure context has no secret box and no sign-in", async () => {
    const context = await person()
    const script = await (await fetch(`${app.origin}/page.js`)).text()
    await context.route("http://insecure.example/**", (route) =>
      route.fulfill(
        route.request().url().endsWith(".js")
          ? { contentType: "text/javascript", body: script }
          : { contentType: "text/html", body: '<!doctype html><script src="/page.js"></script>' },
      ),
    )
    const tab = await context.newPage()
    await tab.goto("http://insecure.example/")
    expect(await tab.evaluate(() => identity.tryBox())).toBe("INSECURE_CONTEXT")
    await expect(tab.evaluate((given) => identity.open(given), settings())).rejects.toThrow(/secure context/)
  })

  const lostAnswers: [string, boolean][] = [
    ["before its cookie was stored", true],
    ["after its cookie was stored", false],
  ]
  test.each(lostAnswers.slice(0, effort(0, 2, 2)))(
    "an answer that is lost %s does not sign the person out",
    async (_, isCookieLost) => {
      const context = await person()
      const tab = await openTab(context)
      await signIn(tab, `lost ${isCookieLost}`)
      await expire(tab)
      const [before] = await context.cookies(server.url)
      let lost = 0
      await context.route("**/*.AuthService/Refresh", async (route) => {
        if (route.request().method() === "POST" && lost++ === 0) {
          await route.fetch()
          if (isCookieLost && before) await context.addCookies([before])
          await route.abort()
        } else await route.continue()
      })
      expect(await token(tab)).toBe("UNREACHABLE")
      const [after] = await context.cookies(server.url)
      expect(after?.value === before?.value).toBe(isCookieLost)
      expect(await token(tab)).toMatch(/^[\w-]{20}$/)
      await expire(tab)
      expect(await token(tab)).toMatch(/^[\w-]{20}$/)
    },
  )

  test.runIf(isLong)("offline, a page stays signed in; online again, it calls", async () => {
    const context = await person()
    const tab = await openTab(context)
    await signIn(tab, "offline")
    await context.setOffline(true)
    await expire(tab)
    expect(await token(tab)).toBe("UNREACHABLE")
    expect(await seen(tab)).toEqual(["starting", "NOT_SIGNED_IN", "signedIn"])
    const before = await refreshes()
    await context.setOffline(false)
    // The event triggers the refresh: no token was requested.
    await expect.poll(refreshes).toBe(before + 1)
    expect(await token(tab)).toMatch(/^[\w-]{20}$/)
  })

  test.runIf(isLong)(
    "a person who signs out offline is signed out, and the cookie is deleted as soon as the service is reachable",
    async () => {
      const context = await person()
      const tab = await openTab(context)
      await signIn(tab, "out")
      await context.setOffline(true)
      expect(await tab.evaluate(() => identity.logout())).toBe(false)
      expect(await token(tab)).toBe("NOT_SIGNED_IN")
      expect(await context.cookies(server.url)).toHaveLength(1)
      await context.setOffline(false)
      await expect.poll(() => context.cookies(server.url)).toEqual([])
      await signIn(tab, "out")
      await tab.reload()
      expect(await tab.evaluate((given) => identity.open(given), settings())).toBe("signedIn")
      expect(await token(tab)).toMatch(/^[\w-]{20}$/)
    },
  )

  test.runIf(isLong)("a page restored from the back-forward cache updates its state", async () => {
    const context = await person()
    const tab = await openTab(context)
    await signIn(tab, "back")
    await tab.goto(`${neighbour.origin}/elsewhere`)
    const other = await openTab(context)
    await other.evaluate(() => identity.logout())
    await tab.goBack({ waitUntil: "commit" })
    expect(await tab.evaluate(() => identity.cameBack())).toBe(true)
    await expect.poll(() => seen(tab)).toEqual(["starting", "NOT_SIGNED_IN", "signedIn", "LOGGED_OUT_ELSEWHERE"])
  })
})
