// The OpenMLS member, built from its sources; kept for as long as they do not change.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

const cache = join(import.meta.dirname, "../../../node_modules/.cache/signet-interop")

function openMlsProgram(): string {
  const hash = createHash("sha256").update(readFileSync(join(import.meta.dirname, "Cargo.toml")))
  const sources = join(import.meta.dirname, "src")
  for (const name of readdirSync(sources).toSorted()) hash.update(name).update(readFileSync(join(sources, name)))
  return join(cache, `openmls-${hash.digest("hex").slice(0, 16)}`)
}

/** Why the program cannot be built here, or undefined when it can. */
export function rustMissing(): string | undefined {
  if (existsSync(openMlsProgram())) return undefined
  try {
    inCopy((folder) => execFileSync("cargo", ["fetch", "--quiet"], { cwd: folder, stdio: "ignore" }))
    return undefined
  } catch {
    return "no Rust, or its crates cannot be had"
  }
}

/** @returns The program's path. */
export function buildOpenMls(): string {
  const program = openMlsProgram()
  if (existsSync(program)) return program
  mkdirSync(dirname(program), { recursive: true })
  inCopy((folder) => {
    execFileSync("cargo", ["build", "--quiet"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] })
    copyFileSync(join(folder, "target/debug/openmls-member"), program)
  })
  return program
}

/** Cargo writes beside what it builds. */
function inCopy(work: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "signet-openmls-"))
  try {
    for (const part of ["Cargo.toml", "src"])
      cpSync(join(import.meta.dirname, part), join(folder, part), { recursive: true })
    work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
