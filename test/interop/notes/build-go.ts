// The Go program, built from its sources and from stubs of the contract; kept for as long as nothing changes.
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { programPath } from "./program-path.ts"
import { makeWorkspace, root, runBuf } from "./workspace.ts"

const sources = join(root, "test/interop/go")
const guard = join(root, "guards/go")
const env = { ...process.env, GOTOOLCHAIN: "local", GOFLAGS: "-mod=readonly -trimpath -buildvcs=false" }
const go = (cwd: string, ...parts: string[]) =>
  execFileSync("go", parts, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })

/** Where the program is, or would be. */
export function goProgram(): string {
  return programPath("go", sources, guard)
}

/** Why the program cannot be built here, or undefined when it can. */
export function goMissing(): string | undefined {
  try {
    go(sources, "mod", "download")
    return undefined
  } catch {
    return "no Go of the version in go.mod, or its modules cannot be had"
  }
}

/** @returns The program's path. */
export function buildGo(): string {
  const program = goProgram()
  if (existsSync(program)) return program
  const workspace = makeWorkspace()
  try {
    // As far from each other as in the repository: go.mod says where the guard is.
    const module = join(workspace, "test/interop/go")
    cpSync(sources, module, { recursive: true })
    cpSync(guard, join(workspace, "guards/go"), { recursive: true })
    mkdirSync(join(module, "gen"))
    const plugins = ["google.golang.org/protobuf/cmd/protoc-gen-go", "google.golang.org/grpc/cmd/protoc-gen-go-grpc"]
    mkdirSync(join(workspace, "bin"))
    go(module, "build", "-o", join(workspace, "bin"), ...plugins)
    const plugin = (name: string) => ({
      local: join(workspace, "bin", name),
      out: "test/interop/go/gen",
      opt: "paths=source_relative",
    })
    const template = {
      version: "v2",
      // One module for all stubs but those of the guard. Google's and buf's files keep the packages of their own stubs.
      managed: {
        enabled: true,
        disable: [{ path: "google" }, { path: "grpc" }, { path: "signet/authz" }],
        override: [{ file_option: "go_package_prefix", value: "signet.example/notes/gen" }],
      },
      inputs: [{ directory: ".", exclude_paths: ["proto/google", "proto/grpc", "proto/signet/authz"] }],
      plugins: [plugin("protoc-gen-go"), plugin("protoc-gen-go-grpc")],
    }
    runBuf(workspace, "generate", "--template", JSON.stringify(template))
    go(module, "build", "-o", join(workspace, "program"), ".")
    mkdirSync(join(program, ".."), { recursive: true })
    cpSync(join(workspace, "program"), `${program}.${process.pid}`)
    renameSync(`${program}.${process.pid}`, program)
    return program
  } finally {
    rmSync(workspace, { recursive: true, force: true })
  }
}
