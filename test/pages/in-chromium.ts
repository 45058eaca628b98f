// What a reader does in a browser with the pages of the tutorials.
import type { Browser, Page } from "playwright-core"
import { expect } from "vitest"

/** Signs in at the stand-in provider's page. */
export async function signIn(tab: Page, button: string, email: string): Promise<void> {
  await tab.getByRole("button", { name: button }).click()
  await tab.waitForURL(/\/dev\/(idp-a|partner)\/sign-in\//)
  await tab.fill("input[name=email]", email)
  await tab.click("button")
}

/** First visit, each connection, reload, a second tab, and signing out in it. */
export async function tryWebApp(browser: Browser, url: string): Promise<void> {
  for (const [button, email] of [
    ["Sign in with Stand-in", "ada@example.com"],
    ["Sign in with Partner stand-in", "bob@example.com"],
  ] as const) {
    const context = await browser.newContext()
    const tab = await context.newPage()
    const faults: string[] = []
    tab.on("pageerror", (error) => faults.push(error.message))
    await tab.goto(url)
    await tab.getByText("Nobody is signed in.").waitFor()
    await signIn(tab, button, email)
    await tab.getByText(`Hello ${email}`).waitFor()
    expect(new URL(tab.url()).pathname).toBe("/")
    await tab.reload()
    await tab.getByText(`Hello ${email}`).waitFor()
    const second = await context.newPage()
    await second.goto(url)
    await second.getByText(`Hello ${email}`).waitFor()
    await second.getByRole("button", { name: "Sign out" }).click()
    for (const each of [tab, second]) await each.getByText("Nobody is signed in.").waitFor()
    expect(faults).toEqual([])
    await context.close()
  }
}
