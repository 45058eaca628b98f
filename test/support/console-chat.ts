// The console's chat in Chromium: each person in a browser of their own, with a camera that shows a file.
import { readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { encodeQR } from "qr"
import { launchChromium } from "./chromium.ts"
import { click } from "./click.ts"
import { screenshot } from "./console.ts"

export interface Chats {
  /** Signs a person in, in a new browser profile. @param query Of the page's address. */
  open(email: string, query?: string): Promise<Page>
  /** Sets the picture that the camera shows from now on. */
  film(code: string): void
  /** Reports of the pages' policy, and errors of their scripts. */
  readonly violations: readonly string[]
  readonly errors: readonly string[]
  /** Lines of the pages' console, and the addresses that they had. */
  readonly said: readonly string[]
  close(): Promise<void>
}

/** @param folder Takes the camera's film. */
export async function openChats(url: string, folder: string): Promise<Chats> {
  const film = join(folder, "camera.y4m")
  const browser: Browser = await launchChromium({
    args: ["--use-fake-device-for-media-stream", `--use-file-for-fake-video-capture=${film}`],
  })
  const violations: string[] = []
  const errors: string[] = []
  const said: string[] = []
  return {
    said,
    violations,
    errors,
    async open(email, query = "") {
      await served(url)
      const context = await browser.newContext({
        viewport: { width: 1280, height: 800 },
        permissions: ["camera"],
        reducedMotion: "reduce",
      })
      context.setDefaultTimeout(120_000)
      watch(context)
      const tab = await context.newPage()
      await tab.goto(`${url}/console/chat${query}`)
      await signIn(tab, email)
      await tab.getByLabel("Your id").waitFor()
      return tab
    },
    film: (code) => writeFileSync(film, filmOf(code)),
    close: () => browser.close(),
  }

  function watch(context: BrowserContext) {
    context.on("page", (tab) => {
      tab.on("pageerror", (error) => errors.push(error.message))
      tab.on("framenavigated", (frame) => said.push(frame.url()))
      tab.on("console", (message) => {
        said.push(message.text())
        if (message.text().includes("Content Security Policy")) violations.push(message.text())
      })
    })
  }
}

async function signIn(tab: Page, email: string): Promise<void> {
  await tab.getByRole("button", { name: "Sign in with Stand-in" }).click()
  await tab.waitForURL(/\/dev\/idp-a\/sign-in\//)
  await tab.fill("input[name=email]", email)
  await tab.click("button")
}

/** In the repository the server builds the pages at the first request, which can take longer than a call may. */
async function served(url: string): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const status = await fetch(`${url}/console/chat`).then(
      (response) => response.status,
      () => 0,
    )
    if (status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

export const idOf = async (tab: Page): Promise<string> => (await tab.getByLabel("Your id").textContent()) ?? ""

export const press = (tab: Page, name: string): Promise<void> =>
  click(tab.getByRole("button", { name, exact: true }).first())

export async function write(tab: Page, text: string): Promise<void> {
  const field = tab.getByLabel("Message", { exact: true })
  await field.fill(text)
  await field.press("Enter")
}

/** Opens a part that is folded up. */
export const unfold = (tab: Page, name: string): Promise<void> =>
  click(tab.locator("summary", { hasText: name }).first())

/** A film of two frames that shows a QR code, in the format that Chromium's fake camera reads. */
function filmOf(code: string): Buffer {
  const [width, height] = [640, 480]
  const cells = encodeQR(code, "raw", { ecc: "medium", border: 4 })
  const scale = Math.floor(height / cells.length)
  const luma = Buffer.alloc(width * height, 235)
  for (let y = 0; y < cells.length * scale; y++) {
    for (let x = 0; x < cells.length * scale; x++) {
      if (cells[Math.floor(y / scale)]?.[Math.floor(x / scale)]) luma[y * width + x] = 16
    }
  }
  const frame = [Buffer.from("FRAME\n"), luma, Buffer.alloc((width * height) / 2, 128)]
  return Buffer.concat([Buffer.from(`YUV4MPEG2 W${width} H${height} F10:1 Ip A1:1 C420jpeg\n`), ...frame, ...frame])
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/**
 * Serious and critical findings of axe-core for WCAG 2.2 AA, in both themes; and whether the page fits 360 pixels.
 *
 * @param name Of the page's pictures.
 */
export async function judge(tab: Page, name: string): Promise<readonly string[]> {
  await tab.evaluate(axe)
  const found: string[] = []
  for (const colorScheme of ["light", "dark"] as const) {
    await tab.emulateMedia({ colorScheme, reducedMotion: "reduce" })
    found.push(...(await axeFindings(tab)).map((finding) => `${colorScheme}: ${finding}`))
    await screenshot(tab, `chat ${name} ${colorScheme}`)
  }
  await tab.setViewportSize({ width: 360, height: 740 })
  const width = await tab.evaluate(() => document.documentElement.scrollWidth)
  if (width > 360) found.push(`the page is ${width} pixels wide`)
  found.push(...(await axeFindings(tab)).map((finding) => `at 360 pixels: ${finding}`))
  await screenshot(tab, `chat ${name} 360 pixels`)
  await tab.setViewportSize({ width: 1280, height: 800 })
  return found
}

function axeFindings(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    interface Finding {
      readonly id: string
      readonly impact: string
      readonly nodes: readonly { readonly html: string }[]
    }
    const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<{ violations: Finding[] }> } }
    const values = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
    const { violations } = await axe.run({ runOnly: { type: "tag", values } })
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 160)}`)
  })
}
