import { execFileSync } from "node:child_process"
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, test, vi } from "vitest"
import { developmentClients } from "../../../server/development/app.ts"
import { developmentBrowser } from "./development.ts"
import { openInBrowser } from "./open-browser.ts"

test.skipIf(process.platform === "win32")(
  "no command line contains the address: the browser opens a file of the user",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "signet-browser-"))
    const browser = join(folder, "browser")
    writeFileSync(browser, `#!/bin/sh\nprintf %s "$*" > ${folder}/said.part && mv ${folder}/said.part ${folder}/said\n`)
    chmodSync(browser, 0o755)
    await openInBrowser('https://idp.example/authorize?state=s3cret&redirect_uri="><script>', browser)
    const said = await vi.waitFor(() => readFileSync(join(folder, "said"), "utf8"), { timeout: 30_000 })
    rmSync(folder, { recursive: true })
    expect(said).not.toContain("s3cret")
    const file = fileURLToPath(said)
    expect([statSync(file).mode & 0o777, statSync(dirname(file)).mode & 0o777]).toEqual([0o600, 0o700])
    const page = readFileSync(file, "utf8")
    expect(page).toContain("state=s3cret&#38;redirect_uri")
    expect(page).not.toContain("<script>")
    rmSync(dirname(file), { recursive: true })
  },
)

test("the file is deleted when the command ends", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-browser-"))
  const source = `import { openInBrowser } from "${import.meta.dirname}/open-browser.ts"
    await openInBrowser("https://idp.example/authorize?state=s3cret", "true")`
  const env = { ...process.env, TMPDIR: folder, TEMP: folder }
  execFileSync(process.execPath, ["--input-type=module", "-e", source], { env })
  const left = readdirSync(folder)
  rmSync(folder, { recursive: true })
  expect(left).toEqual([])
})

test("the development profile's browser client equals the server's", () => {
  const server = "http://127.0.0.1:8080"
  const { issuer, clientId, redirectUris } = developmentBrowser({ server })
  const client = developmentClients(server).find((one) => one.clientId === clientId)
  expect(issuer).toBe(`${server}/dev/idp-a`)
  expect(client?.platform).toBe("WEB")
  expect(client?.redirectUris).toEqual(expect.arrayContaining([...redirectUris]))
})
