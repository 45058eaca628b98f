// The scenario's devices in Chromium: each is a browser context, whose page is crashed in the place of a killed process.
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { buildWorker } from "../../../../scripts/console/messenger-worker.ts"
import { chromiumMissing, launchChromium, serveModulePage } from "../../chromium.ts"
import { freePort } from "../../free-port.ts"
import type { Device, DeviceOptions, ScenarioPlatform } from "./client.ts"

const pagePath = join(import.meta.dirname, "../../../interop/browser/scenario-page.ts")
/** A page for each core, so that both may be open at once. */
const ports = { direct: await freePort(), wasm: await freePort() }
const originOf = (core: keyof typeof ports) => `http://127.0.0.1:${ports[core]}`
/** The services allow them. */
export const pageOrigins: string[] = [originOf("direct"), originOf("wasm")]

/** @param core As in `createMessenger`. */
export const inChromium = (core: "direct" | "wasm"): ScenarioPlatform => ({
  why: chromiumMissing && `the scenario does not run in a page: ${chromiumMissing}`,
  async build(whenDone) {
    const page = await serveModulePage(pagePath, await buildWorker(), { port: ports[core] })
    whenDone(async () => page.close())
    const browser = await launchChromium()
    whenDone(() => browser.close())
    const contexts = new Map<string, BrowserContext>()
    return async (options) => {
      const context = contexts.get(options.folder) ?? (await newContext(browser))
      contexts.set(options.folder, context)
      return startPage(context, options, core)
    }
  },
})

async function newContext(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext()
  await context.exposeFunction("readTestFile", (path: string) => [...readFileSync(path)])
  await context.exposeFunction("writeTestFile", (path: string, bytes: number[]) =>
    writeFileSync(path, Uint8Array.from(bytes)),
  )
  return context
}

async function startPage(
  context: BrowserContext,
  { rootKey, folder: _, ...options }: DeviceOptions,
  core: "direct" | "wasm",
): Promise<Device> {
  const tab = await context.newPage()
  await tab.goto(originOf(core))
  const device = { ...options, core, rootKey: [...Buffer.from(rootKey, "hex")] }
  await tab.evaluate((given) => window.scenario.open(given), device)
  return {
    async step(name, args) {
      const answer = await tab.evaluate((given) => window.scenario.step(...given), [name, args] as const)
      if ("failed" in answer) throw Object.assign(new Error(answer.failed.message), answer.failed)
      return answer.ok
    },
    kill: () => crash(tab),
  }
}

/** Ends the page's process and that of its Worker. The browser, which has the stored rows, continues. */
async function crash(tab: Page): Promise<void> {
  if (tab.isClosed()) return
  const crashed = tab.waitForEvent("crash")
  // The navigation never ends.
  void tab.goto("chrome://crash").catch(() => undefined)
  await crashed
  await tab.close()
}
