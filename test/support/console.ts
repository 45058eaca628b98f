// What stories of the console in Chromium share: a program, a browser, and what its pages report.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { launchChromium } from "./chromium.ts"
import { click } from "./click.ts"
import { bearer, type Clients, clientsOver, protocols } from "./clients.ts"
import { fastTmpdir } from "./fast-tmpdir.ts"
import { type RunningProgram, startProgram } from "./program.ts"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
/** A name that would run if a page took it for markup. */
export const attack = `<img src=x onerror="document.title='xss'">`
/** Access tokens, refresh tokens, personal access tokens, secrets and invitations. */
export const secretPattern = /eyJ[\w-]+\.eyJ|sg(rt|pat|sec|inv)_\w/

export interface ConsoleStory {
  readonly program: RunningProgram
  readonly browser: Browser
  readonly context: BrowserContext
  readonly tab: Page
  readonly watched: Watched
  /** Opens a path below /console in the tab. */
  go(path: string): Promise<unknown>
  press(name: string): Promise<void>
  heading(name: string): Promise<void>
  fill(label: string, text: string): Promise<void>
  /** An access token of a person without administrative scopes. */
  memberToken(): Promise<string>
  close(): Promise<void>
}

/**
 * Starts the program with an empty database, and opens the console in Chromium.
 *
 * @param settings More settings of the program, such as another database.
 */
export async function openConsole(settings: Readonly<Record<string, string>> = {}): Promise<ConsoleStory> {
  const folder = mkdtempSync(join(fastTmpdir(), "signet-console-"))
  const program = await startProgram({ PORT: "0", SIGNET_DATA: folder, SIGNET_LIMITS: "off", ...settings })
  // In the repository the first request builds the pages.
  await fetch(`${program.url}/console`)
  const browser = await launchChromium()
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  context.setDefaultTimeout(90_000)
  const watched = watchPages()
  const tab = await watched.open(context, `${program.url}/console`)
  return {
    program,
    browser,
    context,
    tab,
    watched,
    go: (path) => tab.goto(`${program.url}/console${path}`),
    press: (name) => click(tab.getByRole("button", { name, exact: true }).first()),
    heading: (name) => tab.getByRole("heading", { name, exact: true }).first().waitFor(),
    fill: (label, text) => tab.getByLabel(label, { exact: true }).first().fill(text),
    memberToken: () => tokenOf(program.url, "bob@example.com"),
    async close() {
      await browser.close()
      await program.end("SIGTERM")
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Tokens of a person who signs in at the stand-in provider without a page. @param change More fields of the request. */
export async function loginOf(url: string, email: string, change: object = {}) {
  const headers = { "content-type": "application/json" }
  const request = await fetch(`${url}/dev/idp-a/login-request`, {
    method: "POST",
    headers,
    body: JSON.stringify({ email }),
  })
  const body = JSON.stringify({ ...((await request.json()) as object), ...change })
  const answer = await fetch(`${url}/auth/login/idp-a`, { method: "POST", headers, body })
  return (await answer.json()) as { accessToken: string; refreshToken: string }
}

/** An access token of a person who signs in at the stand-in provider without a page. */
export const tokenOf = async (...login: Parameters<typeof loginOf>): Promise<string> =>
  (await loginOf(...login)).accessToken

/** Calls of an administrator of the development app besides the browser. */
export interface Administrator {
  readonly clients: Clients
  /** Call options with a token of its own, because tokens expire within a slow story. */
  root(): Promise<ReturnType<typeof bearer>>
}

/** Makes Ada an administrator of the development app. */
export async function administratorOf(url: string): Promise<Administrator> {
  const connect = protocols["Connect JSON over HTTP/1.1"]
  if (connect === undefined) throw new Error("no protocol")
  const invited = await fetch(`${url}/dev/console`, { method: "POST" })
  const { invitationCode } = (await invited.json()) as { invitationCode: string }
  await tokenOf(url, "ada@example.com", { invitationCode })
  return { clients: clientsOver(connect(url)), root: async () => bearer(await tokenOf(url, "ada@example.com")) }
}

/** Signs in as an administrator, or as what the page has chosen. */
export async function signIn(page: Page, email: string, name: string): Promise<void> {
  await page.getByRole("button", { name: "Sign in with Stand-in" }).click()
  await page.waitForURL(/\/dev\/idp-a\/sign-in\//)
  await page.fill("input[name=email]", email)
  await page.fill("input[name=name]", name)
  await page.click("button")
  await page.waitForURL(/\/console/)
}

/** Signs Grace in as an administrator of the installation, in a browser profile of her own. */
export async function openInstallation({ browser, program, watched }: ConsoleStory): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  context.setDefaultTimeout(90_000)
  const page = await watched.open(context, `${program.url}/console`)
  const choice = page.getByLabel("Administer")
  await choice.selectOption("installation")
  // The choice makes an invitation first.
  while ((await choice.inputValue()) !== "installation") await page.waitForTimeout(50)
  await signIn(page, "grace@example.com", "Grace")
  await page.getByRole("heading", { name: "Overview" }).waitFor()
  return page
}

/** What pages report: violations of the policy, errors, console output, addresses. */
export type Watched = ReturnType<typeof watchPages>

/** Collects what pages report: violations of the policy, errors, console output, addresses. */
function watchPages() {
  const found = { violations: [] as string[], errors: [] as string[], said: [] as string[], addresses: [] as string[] }
  return {
    ...found,
    async open(context: BrowserContext, address: string): Promise<Page> {
      const page = await context.newPage()
      await page.addInitScript(() => {
        addEventListener("securitypolicyviolation", (event) => console.error(`CSP ${event.violatedDirective}`))
      })
      page.on("console", (message) => {
        const text = message.text()
        found.said.push(text)
        if (text.startsWith("CSP ") || text.includes("Content Security Policy")) found.violations.push(text)
      })
      page.on("pageerror", (error) => found.errors.push(error.message))
      page.on("framenavigated", (frame) => found.addresses.push(frame.url()))
      await page.goto(address)
      return page
    },
  }
}

/**
 * Writes a picture of the page to the folder that `SIGNET_SCREENSHOTS` names, as an artefact of the run.
 *
 * @param name Of the file, such as the path of the screen.
 */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.SIGNET_SCREENSHOTS
  if (folder === undefined || folder === "") return
  mkdirSync(folder, { recursive: true })
  const file = name.replaceAll(/[^A-Za-z0-9]+/g, "-").replaceAll(/^-|-$/g, "") || "overview"
  await page.screenshot({ path: join(folder, `${file}.png`), fullPage: true })
}

/** Serious and critical findings of axe-core for WCAG 2.2 AA. */
export async function axeFindings(page: Page): Promise<string[]> {
  // As the debugger does, which the page's policy does not concern.
  await page.evaluate(axe)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<{ violations: Finding[] }> } }
    interface Finding {
      readonly id: string
      readonly impact: string
      readonly nodes: readonly { readonly html: string }[]
    }
    const values = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
    const { violations } = await axe.run({ runOnly: { type: "tag", values } })
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 160)}`)
  })
}
