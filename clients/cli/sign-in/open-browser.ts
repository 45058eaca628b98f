// Opens a URL in the user's browser through a temporary HTML file that redirects to it. As a process argument, the URL
// and its OAuth `state` would be visible to every user of the machine.
import { spawn } from "node:child_process"
import { rmSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

/** How long the file is kept so that the browser can load it, in milliseconds. */
const keepMs = 60_000

/** @param browser A program to use in place of the system's browser. */
export async function openInBrowser(url: string, browser = process.env.BROWSER): Promise<void> {
  // mkdtemp creates the folder with mode 0700.
  const folder = await mkdtemp(join(tmpdir(), "signet-sign-in-"))
  const file = join(folder, "sign-in.html")
  await writeFile(file, page(url), { mode: 0o600 })
  setTimeout(() => void rm(folder, { recursive: true, force: true }), keepMs).unref()
  // At exit only synchronous work runs.
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
