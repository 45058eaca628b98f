import { spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { sample } from "../../../../test/support/effort.ts"

const vectors = join(import.meta.dirname, "..")

function runs(command: string, ...args: string[]): boolean {
  return spawnSync(command, args).status === 0
}
const python = ["python3", "/usr/bin/python3"].find((path) => runs(path, "-c", "import cryptography"))
const go = ["go", "/usr/local/go/bin/go"].find((path) => runs(path, "version"))

function inPython(folder: string) {
  return spawnSync(python ?? "", [join(vectors, "check", "check.py"), folder], { encoding: "utf8" })
}
function inGo(folder: string) {
  const env = { ...process.env, GOTOOLCHAIN: "local", GOFLAGS: "" }
  return spawnSync(go ?? "", ["run", ".", folder], { cwd: join(vectors, "check", "go"), encoding: "utf8", env })
}

describe.each([
  ["Python", python, inPython],
  ["Go", go, inGo],
] as const)("the checker in %s", (_, toolchain, check) => {
  test.skipIf(toolchain === undefined)("agrees on every vector", () => {
    const { status, stdout, stderr } = check(vectors)
    expect(stderr).toBe("")
    expect(status).toBe(0)
    const [agreed] = stdout.match(/^\d+/) ?? []
    expect(Number(agreed)).toBeGreaterThan(1900)
  })

  test.skipIf(toolchain === undefined).each(
    sample(1, [
      ["device-credential", /"signature":"./, '"signature":"f'],
      ["malformed", "CPB_NON_MINIMAL_VARINT", "CPB_RANGE"],
      ["refusals", '"code":"PROOF_FORK"', '"code":"ok"'],
      ["ed25519", '"valid":false', '"valid":true'],
      ["safety-numbers", /"digits":"./, '"digits":"x'],
    ] as const),
  )("disagrees when one vector of %s.json says something else", (file, find, replacement) => {
    const path = join(copy, `${file}.json`)
    const text = readFileSync(path, "utf8")
    writeFileSync(path, text.replace(find, replacement))
    const { status, stderr } = check(copy)
    writeFileSync(path, text)
    expect(status).toBe(1)
    expect(stderr).toMatch(/^disagrees: /)
  })
})

let copy = ""
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "signet-vectors-"))
  cpSync(vectors, copy, { recursive: true })
})
afterAll(() => rmSync(copy, { recursive: true }))
