// The redirect target of a browser sign-in (RFC 8252 section 7.3): a server on loopback, for one answer.
import { createServer, type Server } from "node:http"
import { CommandError, exitCodes, usage } from "../failure.ts"
import { isLoopbackHost } from "../profiles.ts"

export interface Loopback extends AsyncDisposable {
  /** The registered address at which it listens. */
  readonly redirectUri: string
  /** The address to which the browser was redirected; rejects on timeout. */
  readonly answer: Promise<URL>
}

interface LoopbackOptions {
  /** Registered addresses; the first one with a free port is used. */
  readonly redirectUris: readonly string[]
  /** The sign-in's state. Any page in the browser can call this server: a request without the state is ignored. */
  readonly state: string
  readonly waitMs: number
}

export async function openLoopback({ redirectUris, ...options }: LoopbackOptions): Promise<Loopback> {
  for (const redirectUri of redirectUris) {
    const url = URL.canParse(redirectUri) ? new URL(redirectUri) : undefined
    if (url === undefined || url.protocol !== "http:" || !isLoopbackHost(url.hostname) || url.port === "") {
      throw usage(`${redirectUri} is not a loopback address with a port`)
    }
    const opened = await listenAt(url, redirectUri, options)
    if (opened !== undefined) return opened
  }
  throw new CommandError("PORT_TAKEN", exitCodes.unavailable, "every registered loopback address is in use", {
    hint: "Use --paste, which requires none.",
  })
}

async function listenAt(
  url: URL,
  redirectUri: string,
  { state, waitMs }: Omit<LoopbackOptions, "redirectUris">,
): Promise<Loopback | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<URL>()
  // The rejection is reported to a caller that awaits it, perhaps later.
  promise.catch(() => undefined)
  const server = createServer((request, response) => {
    const asked = new URL(request.url ?? "/", redirectUri)
    const isAnswer = request.method === "GET" && asked.pathname === url.pathname && request.headers.host === url.host
    const headers = { "cache-control": "no-store", "referrer-policy": "no-referrer", connection: "close" }
    const isOurs = isAnswer && asked.searchParams.get("state") === state
    if (!isOurs || !(asked.searchParams.has("code") || asked.searchParams.has("error"))) {
      response.writeHead(404, { ...headers, "content-type": "text/plain" }).end("not here\n")
      return
    }
    const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
    response.writeHead(200, {
      ...headers,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy,
    })
    response.end(donePage, () => resolve(asked))
  })
  if (!(await listen(server, url))) return undefined
  const timer = setTimeout(
    () => reject(new CommandError("SIGN_IN_TIMED_OUT", exitCodes.unavailable, "the browser sign-in timed out")),
    waitMs,
  )
  return {
    redirectUri,
    answer: promise,
    async [Symbol.asyncDispose]() {
      clearTimeout(timer)
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

/** @returns True if the port was free. */
function listen(server: Server, { hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    server.once("error", () => resolve(false))
    server.listen({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port), exclusive: true }, () => resolve(true))
  })
}

const donePage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Signed in</title>
<style>body { font: 1rem/1.5 system-ui, sans-serif; max-width: 22rem; margin: 20vh auto; padding: 0 1rem }</style>
<h1>That is all</h1>
<p>Go back to the terminal. You can close this page.</p>
</html>
`
