// A page that a person uses with the keyboard alone.
import type { Locator, Page } from "playwright-core"

/** Elements that had the focus and did not show it. */
export type Unseen = string[]

/** Presses Tab until the element has the focus. Notes each stop on the way that does not show the focus. */
export async function tabTo(page: Page, target: Locator, unseen: Unseen): Promise<void> {
  await target.waitFor()
  for (let stops = 0; stops < 150; stops++) {
    if (await target.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press("Tab")
    const flaw = await page.evaluate(() => {
      const at = document.activeElement
      if (at === null || at === document.body || at === document.documentElement) return undefined
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(at)
      const isShown = (outlineStyle !== "none" && Number.parseFloat(outlineWidth) > 0) || boxShadow !== "none"
      const { width, height, bottom, top } = at.getBoundingClientRect()
      const isInside = width > 0 && height > 0 && bottom > 0 && top < innerHeight
      return isShown && isInside ? undefined : `${location.pathname}: ${at.outerHTML.slice(0, 120)}`
    })
    if (flaw !== undefined) unseen.push(flaw)
  }
  throw new Error(`no Tab leads to ${target}`)
}

/** Focuses an element with Tab, and presses it. */
export async function pressByKey(page: Page, target: Locator, unseen: Unseen, key = "Enter"): Promise<void> {
  await tabTo(page, target, unseen)
  await page.keyboard.press(key)
}
