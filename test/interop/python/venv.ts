// Environments of Python with the guard's wheel in them. They install from the package registry by pip.
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, readdirSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { guardFolder } from "./reason-table.ts"
import { python } from "./stubs.ts"

/** Why environments cannot be made here, or undefined when they can. */
function missing(): string | undefined {
  try {
    execFileSync(python, ["-c", "import ensurepip, venv"], { stdio: "ignore" })
    return undefined
  } catch {
    return "python3-venv is not installed"
  }
}

/** What the tests run with: the system's interpreter, and the oldest and the newest that pyenv has of those supported. */
export function interpreters(): readonly (readonly [string, string])[] {
  const versions = join(homedir(), ".pyenv/versions")
  const found = existsSync(versions) ? readdirSync(versions).filter((name) => /^3\.(9|[1-9]\d)\./.test(name)) : []
  const minorOf = (name: string) => Number(name.split(".")[1])
  const sorted = found.sort((a, b) => minorOf(a) - minorOf(b)).map((name) => join(versions, name, "bin/python3"))
  const ends = new Set([python, ...sorted.slice(0, 1), ...sorted.slice(-1)])
  return [...ends]
    .filter((path) => existsSync(path))
    .map((command) => [execFileSync(command, ["--version"], { encoding: "utf8" }).trim(), command] as const)
}

function makeVenv(folder: string, command: string, packages: readonly string[]): string {
  const venv = mkdtempSync(join(folder, "venv-"))
  execFileSync(command, ["-m", "venv", venv], { stdio: "ignore" })
  const inside = join(venv, "bin/python")
  execFileSync(inside, ["-m", "pip", "install", "-q", "--disable-pip-version-check", ...packages], {
    stdio: ["ignore", "ignore", "inherit"],
  })
  return inside
}

/** Builds from a copy, so that nothing is written beside the sources. */
function buildWheel(folder: string): string {
  const source = join(folder, "source")
  cpSync(guardFolder, source, { recursive: true, filter: (path) => !/__pycache__|\.mypy_cache|egg-info/.test(path) })
  const builder = makeVenv(folder, python, ["build"])
  execFileSync(builder, ["-m", "build", "--wheel", "--outdir", folder, source], {
    stdio: ["ignore", "ignore", "inherit"],
  })
  const wheel = readdirSync(folder).find((name) => name.endsWith(".whl"))
  if (wheel === undefined) throw new Error("no wheel")
  return join(folder, wheel)
}

function filesOf(wheel: string): readonly string[] {
  const list = execFileSync(python, ["-m", "zipfile", "-l", wheel], { encoding: "utf8" })
  return list
    .split("\n")
    .slice(1)
    .flatMap((line) => line.split(" ")[0] || [])
}

/** What to install beside the wheel: nothing, for the newest; and for one interpreter the oldest that pyproject.toml allows. */
function packagesFor(command: string): readonly (readonly string[])[] {
  const oldest = ["grpcio==1.51.1", "protobuf==4.21.6", "cryptography==38.0.4"]
  return command === python && /3\.(9|10|11)\./.test(execFileSync(command, ["--version"], { encoding: "utf8" }))
    ? [[], oldest]
    : [[]]
}

export const installed = { missing, makeVenv, buildWheel, filesOf, packagesFor }
