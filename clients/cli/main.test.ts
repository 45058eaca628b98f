import { execFileSync } from "node:child_process"
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test, vi } from "vitest"
import { isLong } from "../../test/support/effort.ts"
import { secretVariables } from "./environment.ts"

test.skipIf(process.platform === "win32" || !isLong)(
  "the browser and other child processes get no secret variable",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "signet-main-"))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const browser = join(folder, "browser")
    writeFileSync(browser, `#!/bin/sh\nenv > ${folder}/said.part && mv ${folder}/said.part ${folder}/said\n`)
    chmodSync(browser, 0o755)
    const source = `
    import { spawnSync } from "node:child_process"
    import { run } from "${import.meta.dirname}/main.ts"
    import { openInBrowser } from "${import.meta.dirname}/sign-in/open-browser.ts"
    process.argv = [process.execPath, "signet", "--version"]
    process.exitCode = await run("0.1.0")
    console.log(JSON.stringify(process.env))
    console.log(spawnSync("env", { encoding: "utf8" }).stdout)
    await openInBrowser("https://idp.example/authorize")`
    const secrets = Object.fromEntries(secretVariables.map((name) => [name, `s3cret of ${name}`]))
    const env = { PATH: process.env.PATH, SIGNET_HOME: folder, TMPDIR: folder, BROWSER: browser, ...secrets }
    const out = execFileSync(process.execPath, ["--input-type=module", "-e", source], { env, encoding: "utf8" })
    const ofBrowser = await vi.waitFor(() => readFileSync(join(folder, "said"), "utf8"), { timeout: 20_000 })
    expect(secretVariables).toEqual(["SIGNET_PAT", "SIGNET_PASSPHRASE"])
    for (const text of [out, ofBrowser]) {
      // Other variables are inherited.
      expect(text).toContain(folder)
      expect([...secretVariables, "s3cret"].filter((secret) => text.includes(secret))).toEqual([])
    }
  },
)
