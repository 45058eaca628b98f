// A page of a Next app with the components, in Chromium.
import { createServer } from "node:net"
import { expect } from "vitest"
import { launchChromium } from "../support/chromium.ts"

interface LoginRequest {
  readonly nonce: string
  readonly idToken: string
}

/** A free port among those whose pages the development app allows. */
export async function allowedPort(): Promise<number> {
  for (const port of [3000, 4173, 5173]) {
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true))
    })
    await new Promise((closed) => server.close(closed))
    if (isFree) return port
  }
  throw new Error("the ports 3000, 4173 and 5173 are in use")
}

/**
 * Opens the page with `<SignIn/>`, signs Bob in, and calls the app's guarded route as Bob.
 *
 * @returns What the page showed: the button of the sign-in, the name of the person, and the route's answer.
 */
export async function readNextPage(url: string, authUrl: string) {
  const request = await fetch(`${authUrl}/dev/idp-a/login-request`, {
    method: "POST",
    body: JSON.stringify({ email: "bob@example.com" }),
  })
  const { nonce, idToken } = (await request.json()) as LoginRequest
  const browser = await launchChromium()
  try {
    const page = await browser.newPage()
    page.setDefaultTimeout(60_000)
    const errors: string[] = []
    page.on("pageerror", ({ message }) => errors.push(message))
    await page.goto(`${url}/account?auth=${encodeURIComponent(authUrl)}`)
    const signIn = await page.locator(".signet-sign-in button").first().textContent()
    const login = JSON.stringify({ provider: "IDP_A", nonce, credential: { idToken } })
    await page.getByLabel("Login request of the stand-in").fill(login)
    const person = await page.locator(".signet-user-name").textContent()
    await page.getByRole("button", { name: "Read notes" }).click()
    await expect.poll(() => page.locator("output").textContent(), { timeout: 30_000 }).not.toBe("")
    return { signIn, person, notes: JSON.parse((await page.locator("output").textContent()) ?? ""), errors }
  } finally {
    await browser.close()
  }
}
