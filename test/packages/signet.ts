// The installed server, and tokens of people who sign in there.
import { join } from "node:path"
import { type Running, start } from "./project.ts"

export interface InstalledServer extends Running {
  readonly url: string
  /** What messaging clients pin. */
  readonly rootKey: string
}

/** @param folder Where `@signet/server` is installed; its data go there, too. */
export async function startInstalled(folder: string): Promise<InstalledServer> {
  const bin = join(folder, "node_modules/@signet/server/bin/signet-server.mjs")
  const ready = /Signet is ready on (\S+) [\s\S]*root key (\S+)[\s\S]*"ready"/
  const running = await start(folder, [bin], ready, { PORT: "0", ADMIN_PORT: "0" })
  const [, url = "", rootKey = ""] = running.match
  return { ...running, url, rootKey }
}

/** An access token of Ada's for an audience. */
export async function tokenFor(url: string, audience: string): Promise<string> {
  const asked = await fetch(`${url}/dev/idp-a/login-request`, { method: "POST" })
  const request: unknown = await asked.json()
  const answer = await fetch(`${url}/auth/login/idp-a`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...Object(request), audiences: [audience] }),
  })
  const { accessToken } = Object(await answer.json())
  if (typeof accessToken !== "string") throw new Error(`no access token: ${answer.status}`)
  return accessToken
}

/** What a service answers with a token of its audience, with one of another, and without. */
export async function callsOf(address: string, tokens: { readonly own: string; readonly others: string }) {
  const call = async (token?: string) => {
    const answer = await fetch(address, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } })
    const { of, reason } = Object(await answer.json())
    return { status: answer.status, of, reason }
  }
  return { own: await call(tokens.own), others: await call(tokens.others), none: await call() }
}

/** The server's answers for the console's page, and for the first hashed script that the page names. */
export async function consoleOf(url: string) {
  const page = await fetch(`${url}/console`)
  const text = await page.text()
  const [, script = ""] = /<script type="module" src="(\/console\/assets\/[\w-]+\.js)">/.exec(text) ?? []
  const asset = await fetch(url + script)
  return {
    page: { status: page.status, policy: page.headers.get("content-security-policy") ?? "" },
    script: script.split("/").at(-1) ?? "",
    asset: { status: asset.status, bytes: (await asset.arrayBuffer()).byteLength },
    caching: asset.headers.get("cache-control") ?? "",
  }
}
