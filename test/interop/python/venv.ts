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

/** The interpreters of this machine that the guard supports: the system's, and those of pyenv. */
export function interpreters(): readonly (readonly [string, string])[] {
  const versions = join(homedir(), ".pyenv/versions")
  const found = existsSync(versions) ? readdirSync(versions).filter((name) => /^3\.(9|1\d)\./.test(name)) : []
  const commands = [python, ...found.map((name) => join(versions, name, "bin/python3"))].filter((path) =>
    existsSync(path),
  )
  return commands.map(
    (command) => [execFileSync(command, ["--version"], { encoding: "utf8" }).trim(), command] as const,
  )
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

/** What to install beside the wheel: nothing, for the newest; and the oldest that pyproject.toml allows, where they have wheels. */
function packagesFor(command: string): readonly (readonly string[])[] {
  const version = execFileSync(command, ["--version"], { encoding: "utf8" })
  const oldest = ["grpcio==1.51.1", "protobuf==4.21.12", "cryptography==38.0.4"]
  return /3\.(9|10|11)\./.test(version) ? [[], oldest] : [[]]
}

export const installed = { missing, makeVenv, buildWheel, filesOf, packagesFor }
