// proto/templates/README.md, run in folders that hold a copy of proto/ and nothing else of this repository.
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, describe, expect, test } from "vitest"
import { effort, isLong, isNightly } from "../support/effort.ts"

const root = join(import.meta.dirname, "..", "..")
const bin = join(root, "node_modules/.bin")
const guide = readFileSync(join(root, "proto/templates/README.md"), "utf8")
const isRun = effort(false, true, true)

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A project with a copy of proto/, without the TypeScript that is in the same folder here. */
function makeProject(): string {
  const folder = mkdtempSync(join(tmpdir(), "signet-contract-"))
  folders.push(folder)
  cpSync(join(root, "proto"), join(folder, "proto"), {
    recursive: true,
    filter: (path) => path !== join(root, "proto/canonical"),
  })
  return folder
}

/** Runs a script as a shell does. @returns What it printed. */
function run(folder: string, script: string): string {
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, GOTOOLCHAIN: "local", GOFLAGS: "-mod=mod" }
  return execFileSync("sh", ["-eu", "-c", script], { cwd: folder, env, encoding: "utf8", stdio: "pipe" })
}

/** The block of a language's section in the guide that is fenced with these words. */
function block(section: string, fence: string): string {
  const [, rest = ""] = guide.split(`\n## ${section}\n`)
  const [, text] = rest.split(/\n## /)[0]?.split(`\n\`\`\`${fence}\n`) ?? []
  if (text === undefined) throw new Error(`no ${fence} block under ${section}`)
  return text.split("\n```")[0] ?? ""
}

function write(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

/** True when a program runs; says on the test's name that it does not. */
function has(...command: [string, ...string[]]): boolean {
  try {
    execFileSync(command[0], command.slice(1), { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

const hasPython = has("python3", "-m", "venv", "--help")
const skipped = (missing: boolean, what: string) => (missing ? ` (skipped: ${what})` : "")

test.runIf(isLong)("buf lints and builds a copy of proto/ without the repository", () => {
  const copy = join(makeProject(), "proto")
  expect(run(copy, "buf lint && buf build -o image.binpb && buf format --path signet -d --exit-code")).toBe("")
})

test.runIf(isLong)("a template whose plugin is missing is refused with the plugin's name, as the guide states", () => {
  const folder = makeProject()
  const template = join(folder, "proto/templates/typescript/buf.gen.yaml")
  writeFileSync(template, readFileSync(template, "utf8").replace("protoc-gen-es", "protoc-gen-absent"))
  expect(() => run(folder, "buf generate --template proto/templates/typescript/buf.gen.yaml")).toThrow(
    'plugin protoc-gen-absent: exec: "protoc-gen-absent": executable file not found in $PATH',
  )
})

test("templates that no test runs state that", () => {
  for (const language of ["csharp", "swift"]) {
    const text = readFileSync(join(root, `proto/templates/${language}/buf.gen.yaml`), "utf8")
    expect(text).toMatch(/^# NEVER RUN HERE\. /)
  }
})

/** The protoc of grpcio-tools, as a command: Debian's is older than the contract needs. @returns What puts it on the path. */
function installProtoc(folder: string): string {
  write(folder, "tools/protoc", '#!/bin/sh\nexec "$(dirname "$0")/../.venv/bin/python" -m grpc_tools.protoc "$@"\n')
  chmodSync(join(folder, "tools/protoc"), 0o755)
  const [venv, install] = block("Python", "sh").split("\n")
  run(folder, `${venv}\n${install}`)
  return "export GOBIN=$PWD/tools; export PATH=$GOBIN:$PATH"
}

describe.skipIf(!isRun)(`the guide's commands${skipped(!isRun, "npm run test:long runs them")}`, () => {
  test("TypeScript", { timeout: 120_000 }, () => {
    const folder = makeProject()
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
    write(folder, "package.json", '{"type": "module"}')
    write(folder, "client.ts", block("TypeScript", "ts"))
    run(folder, block("TypeScript", "sh"))
    expect(existsSync(join(folder, "gen/buf/validate/validate_pb.ts"))).toBe(true)
  })

  const hasGo = has("go", "version")
  test.skipIf(!hasGo)(`Go, with buf and with protoc${skipped(!hasGo, "no go")}`, { timeout: 600_000 }, () => {
    const folder = makeProject()
    const template = join(folder, "proto/templates/go/buf.gen.yaml")
    cpSync(join(root, "guards/go"), join(folder, "guard"), { recursive: true })
    // A port where nothing listens.
    write(folder, "main.go", block("Go", "go").replace("127.0.0.1:8080", "127.0.0.1:1"))
    run(folder, block("Go", "sh"))
    expect(existsSync(join(folder, "gen/signet/authz"))).toBe(false)
    // A program that holds a file twice panics before main.
    expect(() => run(folder, "SIGNET_TOKEN= go run .")).toThrow(/code = Unavailable/)

    if (!hasPython) return
    const tools = installProtoc(folder)
    run(folder, "mv gen bufs && mkdir gen && cp bufs/go.* gen/")
    const plugins = [...readFileSync(template, "utf8").matchAll(/go, run, ([^\]]+)/g)].map(
      ([, at]) => `go install ${at}`,
    )
    run(folder, [tools, ...plugins, block("Go", "sh protoc"), "go build ./..."].join("\n"))
    expect(run(folder, "cd bufs && find . -name '*.go' | sort")).toBe(
      run(folder, "cd gen && find . -name '*.go' | sort"),
    )
  })

  test.skipIf(!isNightly || !hasPython)(
    `protoc by itself${skipped(!isNightly, "npm run nightly")}${skipped(!hasPython, "no python3")}`,
    { timeout: 300_000 },
    () => {
      const folder = makeProject()
      const all = "find proto/signet -name '*.proto' | xargs protoc -I proto --descriptor_set_out=all.binpb"
      run(folder, `${installProtoc(folder)}\n${all}`)
      expect(existsSync(join(folder, "all.binpb"))).toBe(true)
    },
  )

  test.skipIf(!hasPython)(`Python${skipped(!hasPython, "no python3 with venv")}`, { timeout: 300_000 }, () => {
    const folder = makeProject()
    write(folder, "client.py", block("Python", "python"))
    run(folder, block("Python", "sh"))
    run(folder, "PYTHONPATH=gen .venv/bin/python -c 'import client; from signet.messaging.v1 import records_pb2'")
    run(folder, "PYTHON=.venv/bin/python sh proto/templates/python/generate.sh")
    expect(existsSync(join(folder, "gen/signet/authz"))).toBe(false)
  })

  const hasMaven = has("mvn", "-v")
  test.skipIf(!isNightly || !hasMaven)(
    `Java, without the guard${skipped(!isNightly, "npm run nightly")}${skipped(!hasMaven, "no mvn")}`,
    { timeout: 600_000 },
    () => {
      const folder = makeProject()
      const pom = join(folder, "proto/templates/java/pom.xml")
      const text = readFileSync(pom, "utf8")
      const without = text
        .replace(/ {4}<!-- signet\.authz\.[\s\S]*?<\/dependency>\n/, "")
        .replace(/ *<exclude>signet\/authz.*\n/, "")
      expect(text.length - without.length).toBeGreaterThan(300)
      writeFileSync(pom, without)
      write(folder, "src/main/java/com/example/Client.java", block("Java", "java"))
      run(folder, block("Java", "sh"))
      expect(existsSync(join(folder, "target/classes/com/example/Client.class"))).toBe(true)
    },
  )
})
