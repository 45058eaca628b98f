import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "vitest"
import { fakeCli } from "../testing/fake-cli.ts"
import { scripts, shells } from "./scripts.ts"

async function completed(...words: string[]): Promise<string[]> {
  const { out } = await fakeCli().run("__complete", "--", ...words)
  return out.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0] ?? ""]))
}

test.each<[string[], string[]]>([
  [["tok"], ["token"]],
  [
    ["app", ""],
    ["create", "list", "get", "update", "suspend", "resume", "archive"],
  ],
  [
    ["--profile", "app", "se"],
    ["session", "service-account", "serve"],
  ],
  [["token", "get", "--a"], ["--audience"]],
  [["pat", "create", "--j"], ["--json"]],
  [
    ["login", "--store", ""],
    ["os", "passphrase"],
  ],
  [
    ["provider", "set", "idp-"],
    ["idp-a", "idp-b", "idp-c"],
  ],
  [["provider", "set", "idp-a", "--platform", "i"], ["ios"]],
  [["service-account", "secret", "ro"], ["rotate"]],
  [["keys", "rotate", "P"], ["PROOF"]],
  [
    ["completion", ""],
    ["bash", "zsh", "fish"],
  ],
  [["app", "get", ""], []],
  [["no", "such", ""], []],
])("after %j comes %j", async (words, expected) => {
  expect((await completed(...words)).sort()).toEqual([...expected].sort())
})

test("all but hidden commands are offered at the start", async () => {
  const all = await completed("")
  expect(all).toEqual(expect.arrayContaining(["login", "serve", "completion", "help"]))
  expect(all.filter((word) => word.startsWith("_"))).toEqual([])
})

for (const shell of shells) {
  const isMissing = spawnSync(shell, ["--version"]).error !== undefined
  test.skipIf(isMissing)(`the script for ${shell} is one${isMissing ? ` (skipped: no ${shell})` : ""}`, () => {
    const folder = mkdtempSync(join(tmpdir(), "signet-completion-"))
    writeFileSync(join(folder, "script"), scripts[shell])
    const { status, stderr } = spawnSync(shell, ["-n", join(folder, "script")], { encoding: "utf8" })
    rmSync(folder, { recursive: true })
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
  })
}

const bashMissing = spawnSync("bash", ["--version"]).error !== undefined
test.skipIf(bashMissing)("bash offers the command's candidates, and passes the typed words", () => {
  const script = `
    signet() { printf '[%s]' "$@" >&2; printf 'create\\tMake an app.\\nget\\tShow an app.\\n'; }
    ${scripts.bash.replace(" 2>/dev/null", "")}
    COMP_WORDS=(signet app "") COMP_CWORD=2
    _signet
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = spawnSync("bash", ["-c", script], { encoding: "utf8" })
  expect([stdout, stderr]).toEqual(["create\nget\n", "[__complete][--][app][]"])
})
