// The examples of the packages' pages, and of what they lead to, are programs: they compile as they stand there.
import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { expect, test } from "vitest"
import { isLong } from "./support/effort.ts"

const root = resolve(import.meta.dirname, "..")
const pages = [
  ...["clients/core/README.md", "clients/web/README.md", "clients/node/README.md", "clients/react-native/README.md"],
  ...["clients/native/README.md", "clients/react/README.md", "docs/how-to/build-a-messenger.md", "gen/README.md"],
]

test.runIf(isLong)("the examples of the packages' pages compile", () => {
  // Inside node_modules, so that the packages are found and nothing else takes it for a source.
  const folder = join(root, "node_modules/.cache/signet/examples")
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const examples = pages.flatMap((page) => {
    const found = [...readFileSync(join(root, page), "utf8").matchAll(/^```(tsx?)\n(.*?)^```$/gms)]
    expect(found.length, page).toBeGreaterThan(0)
    return found.map(([, ext, text = ""], index) => ({ name: `${page.replaceAll("/", "-")}-${index}.${ext}`, text }))
  })
  for (const { name, text } of examples) writeFileSync(join(folder, name), text)
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: { noUnusedLocals: true, typeRoots: [join(root, "node_modules/@types")] },
    // An app has the types of React Native.
    include: ["*.ts", "*.tsx", join(root, "clients/react-native/spec/react-native.d.ts")],
    exclude: [],
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config))
  const { stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], { cwd: root, encoding: "utf8" })
  expect(stdout).toBe("")
})

test("the page states for each secret box how it was tested, in one of three ways", () => {
  const page = readFileSync(join(root, "clients/README.md"), "utf8")
  const [, table = ""] = page.match(/\| where \| stores keys in \| .*\|\n\|[-|]+\|\n((?:\|.*\|\n)+)/) ?? []
  const rows = table.trim().split("\n")
  const known = rows.map((row) => row.split("|").at(-2)?.trim() ?? "")
  expect(rows.length).toBe(14)
  for (const one of known) expect(["tested in CI", "contract-tested with a fake", "written, never run"]).toContain(one)
})
