// The Go guard as a module proxy in a folder has it (the GOPROXY protocol), so that `go get signet.dev/guard` finds it.
import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const version = "v0.1.0"

/** @returns Settings for `go`: our module from the folder, everything else as the machine has it. */
export function publishGoModule(source: string, into: string): Readonly<Record<string, string>> {
  const versions = join(into, "signet.dev/guard/@v")
  const prefix = `signet.dev/guard@${version}`
  mkdirSync(versions, { recursive: true })
  cpSync(source, join(into, prefix), { recursive: true })
  cpSync(join(source, "go.mod"), join(versions, `${version}.mod`))
  writeFileSync(join(versions, "list"), `${version}\n`)
  writeFileSync(join(versions, `${version}.info`), JSON.stringify({ Version: version, Time: "2026-01-01T00:00:00Z" }))
  const archive = "import shutil, sys; shutil.make_archive(sys.argv[1], 'zip', '.', sys.argv[2])"
  execFileSync("python3", ["-c", archive, join(versions, version), prefix], { cwd: into })
  rmSync(join(into, prefix), { recursive: true })
  const read = (name: string) => execFileSync("go", ["env", name], { encoding: "utf8" }).trim()
  return {
    GOPROXY: `file://${into},${read("GOPROXY")}`,
    GONOSUMDB: "signet.dev/*",
    GOFLAGS: "-modcacherw",
    GOCACHE: read("GOCACHE"),
  }
}
