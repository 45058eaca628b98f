// Opens an address in the person's browser. The address does not stand on any command line, which all users of the
// machine could read, and with it the state that ties the answer to this sign-in: the browser opens a file instead.
import { spawn } from "node:child_process"
import { rmSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

/** How long the browser has to read the file. */
const keepMs = 60_000

/** @param browser A program that takes an address, where the system's own is not to be used. */
export async function openInBrowser(url: string, browser = process.env.BROWSER): Promise<void> {
  // For its owner only, as mkdtemp makes it.
  const folder = await mkdtemp(join(tmpdir(), "signet-sign-in-"))
  const file = join(folder, "sign-in.html")
  await writeFile(file, page(url), { mode: 0o600 })
  setTimeout(() => void rm(folder, { recursive: true, force: true }), keepMs).unref()
  // Nothing that takes time is done any more by then.
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
  const address = pathToFileURL(file).href
  if (browser) {
    spawn(browser, [address], { detached: true, stdio: "ignore" })
      .on("error", () => undefined)
      .unref()
    return
  }
  const { default: open } = await import("open")
  await open(address)
}

const page = (url: string): string =>
  `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Sign in</title>
<meta http-equiv="refresh" content="0;url=${escapeHtml(url)}">
<a href="${escapeHtml(url)}">Sign in</a>
`

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
