import { resolve } from "node:path"
import { expect, test } from "vitest"
import { chromiumMissing, launchChromium, servePage } from "../support/chromium.ts"
import { isLong } from "../support/effort.ts"

test.skipIf(chromiumMissing || !isLong)(
  "in Chromium the engine passes its self-test, and exchanges messages with ts-mls",
  async () => {
    const page = await servePage(resolve(import.meta.dirname, "browser/mls-page.ts"))
    const browser = await launchChromium()
    try {
      const tab = await browser.newPage()
      await tab.goto(page.origin)
      const timing = await tab.evaluate(() => window.conversation())
      console.log(`milliseconds a message in Chromium: ${JSON.stringify(timing)}`)
      expect(timing.members).toBe(4)
    } finally {
      await browser.close()
      page.close()
    }
  },
)
