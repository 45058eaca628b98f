// The guard for Go: its own tests, with the vectors, and what its sources have to look like.
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { describe, expect, test } from "vitest"
import { root } from "../../interop/notes/workspace.ts"
import { effort } from "../../support/effort.ts"
import { type Mutation, mutations } from "./mutations.ts"

const module = join(root, "guards/go")
const env = { ...process.env, GOTOOLCHAIN: "local", GOFLAGS: "-mod=readonly -buildvcs=false" }
const go = (...parts: string[]) =>
  execFileSync("go", parts, { cwd: module, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1e8 })
/** For a machine that has built nothing of it yet, and other work. */
const timeoutMs = 600_000

const missing = effort(() => "npm run test:long runs it", goMissing, goMissing)()

/** Why the module cannot be tested here, or undefined when it can. */
function goMissing(): string | undefined {
  try {
    go("mod", "download")
    return undefined
  } catch {
    return "no Go of the version in go.mod, or its modules cannot be had"
  }
}

if (missing !== undefined) test.skip(`the guard for Go: ${missing}`, () => {})
else {
  describe("the guard for Go", () => {
    test("is formatted and has nothing that go vet finds", { timeout: timeoutMs }, () => {
      expect(execFileSync("gofmt", ["-l", "."], { cwd: module, encoding: "utf8" })).toBe("")
      expect(go("vet", "./...")).toBe("")
    })

    test("passes its tests and every vector, without a race", { timeout: timeoutMs }, () => {
      // The race detector needs a C compiler.
      const hasCompiler = spawnSync("cc", ["--version"]).status === 0
      if (!hasCompiler) console.log("go test without -race: no C compiler")
      const told = go("test", "-count=1", "-v", ...(hasCompiler ? ["-race"] : []), "./...")
      expect(told).not.toMatch(/--- (SKIP|FAIL)/)
      const passed = told.match(/^ +--- PASS: /gm)?.length ?? 0
      expect(passed).toBeGreaterThanOrEqual(2 * count("decisions.json", "cases") + vectorCount())
    })

    test("has the stubs and the reasons that are generated", { timeout: timeoutMs }, () => {
      const target = mkdtempSync(join(tmpdir(), "signet-guard-go-"))
      try {
        execFileSync(process.execPath, [join(module, "generate.ts"), target], { cwd: root, env, stdio: "pipe" })
        const generated = readdirSync(target, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
        expect(generated.length).toBe(5)
        for (const { parentPath, name } of generated) {
          const path = relative(target, join(parentPath, name))
          expect(readFileSync(join(module, path), "utf8"), path).toBe(readFileSync(join(target, path), "utf8"))
        }
      } finally {
        rmSync(target, { recursive: true, force: true })
      }
    })

    test("README's first program builds with the module and nothing else", { timeout: timeoutMs }, () => {
      const folder = mkdtempSync(join(tmpdir(), "signet-guard-go-"))
      try {
        const [, program = ""] =
          /```go\n(package main[\s\S]*?)```/.exec(readFileSync(join(module, "README.md"), "utf8")) ?? []
        writeFileSync(join(folder, "main.go"), program)
        const settings = ["module example.com/notes", "go 1.24.0", "require signet.dev/guard v0.0.0"]
        writeFileSync(join(folder, "go.mod"), [...settings, `replace signet.dev/guard => ${module}`, ""].join("\n"))
        execFileSync("go", ["build", "-o", "notes", "."], { cwd: folder, env, stdio: "pipe" })
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    })

    test("a vector fails for each check that is removed", { timeout: 2 * 3_600_000 }, () => {
      const folder = mkdtempSync(join(tmpdir(), "signet-guard-go-"))
      try {
        // Each takes a compilation: at night all of them.
        const every = effort(1, 8, 1)
        const survivors = mutations.filter((mutation, i) => i % every === 0 && !isKilled(mutation, folder))
        expect(survivors).toEqual([])
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    })
  })
}

/** Whether a vector fails in a copy of the sources with the edit. @throws when the edit cannot be made. */
function isKilled([file, from, to]: Mutation, folder: string): boolean {
  const parts = readFileSync(join(module, file), "utf8").split(from)
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} places with: ${from}`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, file), parts.join(to))
  const overlay = join(folder, "overlay.json")
  writeFileSync(overlay, JSON.stringify({ Replace: { [join(module, file)]: join(folder, file) } }))
  const vectors =
    "^(TestTokens|TestTokenSequences|TestKeySetDocuments|TestKeySetSequences|TestFeed|TestSnapshots.*|TestDecisionsOverHTTP)$"
  const parameters = [
    "test",
    "-vet=off",
    "-count=1",
    "-failfast",
    "-timeout=60s",
    "-overlay",
    overlay,
    "-run",
    vectors,
    ".",
  ]
  const { stdout } = spawnSync("go", parameters, { cwd: module, env, encoding: "utf8", maxBuffer: 1e8 })
  return /^ *--- FAIL: /m.test(stdout)
}

function count(file: string, list: string): number {
  const vectors: unknown = JSON.parse(readFileSync(join(root, "server/guard/vectors", file), "utf8"))
  const found: unknown = typeof vectors === "object" && vectors !== null ? Reflect.get(vectors, list) : undefined
  return Array.isArray(found) ? found.length : Number.NaN
}

function vectorCount(): number {
  return (
    count("tokens.json", "cases") +
    count("tokens.json", "sequences") +
    count("key-sets.json", "documents") +
    count("key-sets.json", "sequences") +
    count("feed.json", "sequences") +
    count("snapshots.json", "sequences")
  )
}
