import type { Locator } from "playwright-core"

/**
 * Clicks when the element is visible, enabled and still. The click of a mouse is lost if the page moves the element, or
 * makes it anew, between press and release, which a busy machine does now and then.
 */
export async function click(at: Locator): Promise<void> {
  await at.click({ trial: true })
  await at.evaluate((element: HTMLElement) => element.click())
}
