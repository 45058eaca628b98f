// Headless Chromium from the system, and a page server with its own origin.
import { existsSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { build } from "esbuild"
import { type Browser, chromium } from "playwright-core"

const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync)

/** Why browser tests cannot run; undefined if they can. */
export const chromiumMissing: string | undefined = executablePath ? undefined : "no Chromium"

export function launchChromium(
  options: { hasBackForwardCache?: boolean; args?: readonly string[] } = {},
): Promise<Browser> {
  if (executablePath === undefined) throw new Error("no Chromium")
  return chromium.launch({
    executablePath,
    ignoreDefaultArgs: options.hasBackForwardCache ? ["--disable-back-forward-cache"] : [],
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...(options.args ?? []),
    ],
  })
}

async function bundle(entry: string, format: "iife" | "esm" = "iife"): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format,
    target: "es2022",
  })
  return outputFiles[0]?.text ?? ""
}

/**
 * Serves one bundled page on a free loopback port.
 *
 * @param worker Entry of a service worker, served at /worker.js.
 * @param inline A script that runs before the page's.
 */
export async function servePage(
  entry: string,
  worker?: string,
  inline = "",
): Promise<{ origin: string; close(): void }> {
  const scripts = new Map([["/page.js", await bundle(entry)]])
  if (worker !== undefined) scripts.set("/worker.js", await bundle(worker))
  const server = createServer((request, response) => {
    const script = scripts.get(request.url ?? "")
    if (script !== undefined) response.setHeader("content-type", "text/javascript").end(script)
    else
      response
        .setHeader("content-type", "text/html")
        .end(`<!doctype html><title>Signet</title><script>${inline}</script><script src="/page.js"></script>`)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, close: () => server.close() }
}

/** The policy of a page with the core in a Worker. */
const policy = [
  ...["default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "worker-src 'self'", "connect-src *"],
].join("; ")

/**
 * Serves one bundled module page, and the files of a Worker, under a strict content security policy.
 *
 * @param serviceWorker Entry of a service worker, served at /worker.js.
 * @param change Changes the policy of the pages and of the files.
 * @param port Default: a free one.
 */
export async function serveModulePage(
  entry: string,
  files: ReadonlyMap<string, Uint8Array>,
  {
    serviceWorker,
    change = (given) => given,
    port: wantedPort = 0,
  }: { serviceWorker?: string; change?: (policy: string) => string; port?: number } = {},
): Promise<{ origin: string; close(): void }> {
  const script = await bundle(entry, "esm")
  const scripts = new Map<string, string>([["page.js", script]])
  if (serviceWorker !== undefined) scripts.set("worker.js", await bundle(serviceWorker))
  const types: Record<string, string> = { js: "text/javascript", wasm: "application/wasm" }
  const server = createServer((request, response) => {
    const name = request.url?.slice(1) ?? ""
    const file = scripts.get(name) ?? files.get(name.replace(/^worker\//, ""))
    response.setHeader("content-security-policy", change(policy))
    if (file === undefined) response.setHeader("content-type", "text/html").end(html)
    else response.setHeader("content-type", types[name.split(".").at(-1) ?? ""] ?? "application/octet-stream").end(file)
  })
  const html = '<!doctype html><title>Signet</title><script type="module" src="/page.js"></script>'
  await new Promise<void>((resolve) => server.listen(wantedPort, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, close: () => server.close() }
}
