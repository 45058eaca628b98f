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

/** First contact, an answer, and both again on new devices: a context of Chromium is a browser of its own. */
export async function tryChat(browser: Browser, url: string): Promise<void> {
  const open = async (email: string) => {
    const context = await browser.newContext()
    const tab = await context.newPage()
    await tab.goto(url)
    await signIn(tab, "Sign in", email)
    await expect.poll(() => tab.textContent("#me"), { timeout: 60_000 }).toMatch(/^prn_/)
    const userId = (await tab.textContent("#me")) ?? ""
    return { context, tab, userId }
  }
  const write = async (from: Page, peer: string, text: string) => {
    await from.fill("input[name=peer]", peer)
    await from.fill("input[name=text]", text)
    await from.getByRole("button", { name: "Send" }).click()
  }
  const ada = await open("ada@example.com")
  const bob = await open("bob@example.com")
  await write(ada.tab, bob.userId, "hello Bob")
  await bob.tab.getByText(`${ada.userId}: hello Bob`).waitFor({ timeout: 60_000 })
  await write(bob.tab, ada.userId, "hello Ada")
  await ada.tab.getByText(`${bob.userId}: hello Ada`).waitFor({ timeout: 60_000 })
  await ada.tab.reload()
  await ada.tab.getByText(`${bob.userId}: hello Ada`).waitFor({ timeout: 60_000 })
  // Both browsers are lost, with all that they kept. Nothing is revoked.
  await Promise.all([ada.context.close(), bob.context.close()])
  const adaAgain = await open("ada@example.com")
  const bobAgain = await open("bob@example.com")
  await write(adaAgain.tab, bobAgain.userId, "a new device")
  await bobAgain.tab.getByText(`${adaAgain.userId}: a new device`).waitFor({ timeout: 120_000 })
  await write(bobAgain.tab, adaAgain.userId, "mine, too")
  await adaAgain.tab.getByText(`${bobAgain.userId}: mine, too`).waitFor({ timeout: 60_000 })
  await Promise.all([adaAgain.context.close(), bobAgain.context.close()])
}
