// What is published runs on Node 20, so it is compiled against no newer language: test/packages.test.ts runs it there.
import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { expect, test } from "vitest"
import { libraries } from "../scripts/packages/plan.ts"
import { isLong } from "./support/effort.ts"

const root = resolve(import.meta.dirname, "..")

/** Each is in Node 22 or 24, and not in 20. */
const newer = [
  "Promise.withResolvers<void>()",
  "Promise.try(() => 1)",
  "Object.groupBy([1], () => 1)",
  "Map.groupBy([1], () => 1)",
  "new Set([1]).union(new Set([2]))",
  "[1].values().map((one) => one)",
  "Iterator.from([1])",
  "Array.fromAsync([1])",
  "new Uint8Array(1).toBase64()",
  "Uint8Array.fromHex('00')",
  "new ArrayBuffer(1).transfer()",
  "RegExp.escape('.')",
  "Error.isError(1)",
]
const older = ["[1].toSorted()", "[1].findLast(() => true)", "'a'.isWellFormed()", "AbortSignal.timeout(1)"]

test.runIf(isLong)("a built-in that Node 20 lacks does not compile in published code", () => {
  const folder = join(root, "node_modules/.cache/signet/node-20")
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "newer.ts"), newer.map((expression) => `void ${expression}`).join("\n"))
  writeFileSync(join(folder, "older.ts"), older.map((expression) => `void ${expression}`).join("\n"))
  const options = { extends: join(root, "tsconfig.build.json"), include: ["*.ts"], exclude: [] }
  const compilerOptions = { noEmit: true, rootDir: root, typeRoots: [join(root, "node_modules/@types")] }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ ...options, compilerOptions }))
  const { stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", folder, "--pretty", "false"], {
    cwd: root,
    encoding: "utf8",
  })
  const refused = new Set([...stdout.matchAll(/newer\.ts\((\d+),/g)].map(([, line]) => newer[Number(line) - 1]))
  expect(newer.filter((expression) => !refused.has(expression))).toEqual([])
  expect(stdout).not.toContain("older.ts")
})

test("the build for Node 20 compiles every published library", () => {
  const { include } = JSON.parse(
    readFileSync(join(root, "tsconfig.build.json"), "utf8").replaceAll(/^\s*\/\/.*$/gm, ""),
  )
  expect(include).toEqual(
    expect.arrayContaining([...libraries.map(({ folder }) => (folder === "gen" ? "gen/es" : folder)), "server/kernel"]),
  )
})
