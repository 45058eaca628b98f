// The systems that libsignet is built for: the machine's own, and those that its compilers translate for.
import { spawnSync } from "node:child_process"
import { delimiter } from "node:path"
import { buildWindowsLibraries, windowsCompilers, windowsDescriptions } from "./windows.ts"

export interface Target {
  readonly c: string
  readonly cpp: string
  /** Arguments of CMake's configuration. */
  readonly cmake: readonly string[]
  /** The variables that make pkg-config describe the target's libraries, as arguments of `env`. */
  readonly environment: readonly string[]
  /** The same, with the machine's own descriptions after the target's: for libraries of which the build needs headers only. */
  readonly headers: readonly string[]
  /** Programs that the build needs besides compilers. */
  readonly tools: readonly string[]
  /** The libraries that must be installed. */
  readonly libraries: readonly string[]
  /** Builds the libraries that are not installed. */
  readonly prepare?: () => void
}

const tools = ["wasm2c", "cmake", "pkg-config"]
const libraries = ["libcrypto", "libcurl", "sqlite3", "libargon2"]
const native: Target = { c: "gcc", cpp: "g++", cmake: [], environment: [], headers: [], tools, libraries }

/** Debian's compilers and libraries for another architecture of Linux. */
function debian(triplet: string, processor: string): Target {
  const [c, cpp] = [`${triplet}-gcc`, `${triplet}-g++`]
  const folders = [`/usr/lib/${triplet}/pkgconfig`, "/usr/share/pkgconfig"]
  const own = spawnSync("gcc", ["-print-multiarch"], { encoding: "utf8" }).stdout ?? ""
  return {
    ...{ c, cpp },
    cmake: [
      ...["-DCMAKE_SYSTEM_NAME=Linux", `-DCMAKE_SYSTEM_PROCESSOR=${processor}`],
      ...[`-DCMAKE_C_COMPILER=${c}`, `-DCMAKE_CXX_COMPILER=${cpp}`, `-DCMAKE_LIBRARY_ARCHITECTURE=${triplet}`],
    ],
    environment: [`PKG_CONFIG_LIBDIR=${folders.join(delimiter)}`],
    headers: [`PKG_CONFIG_LIBDIR=${[...folders, `/usr/lib/${own.trim()}/pkgconfig`].join(delimiter)}`],
    ...{ tools, libraries },
  }
}

/** Windows by mingw, whose libraries are built on the way. */
function windows(): Target {
  const { c, cpp } = windowsCompilers
  const environment = [`PKG_CONFIG_LIBDIR=${windowsDescriptions}`]
  return {
    ...{ c, cpp, environment, headers: environment, libraries: [], prepare: buildWindowsLibraries },
    cmake: ["-DCMAKE_SYSTEM_NAME=Windows", `-DCMAKE_C_COMPILER=${c}`, `-DCMAKE_CXX_COMPILER=${cpp}`],
    tools: [...tools, "cargo", "make"],
  }
}

export const targetNames = ["linux-x64", "linux-arm64", "windows-x64"] as const
export type TargetName = (typeof targetNames)[number]

export const ownTarget = `${process.platform}-${process.arch}`

/** @throws Error for a system that libsignet is not built for. */
export function targetOf(name: string): Target {
  if (name === ownTarget) return native
  if (name === "linux-arm64") return debian("aarch64-linux-gnu", "aarch64")
  if (name === "windows-x64") return windows()
  throw new Error(
    `target is ${name}; on this machine it may be ${[ownTarget, "linux-arm64", "windows-x64"].join(", ")}`,
  )
}

/** Names what must be installed to build for the target; undefined if nothing is missing. */
export function missingTool(target: Target = native): string | undefined {
  for (const tool of [...target.tools, target.c, target.cpp]) {
    if (spawnSync(tool, ["--version"], { stdio: "ignore" }).error !== undefined) return tool
  }
  const has = (library: string, variables: readonly string[]) =>
    spawnSync("env", [...variables, "pkg-config", "--exists", library]).status === 0
  for (const library of target.libraries) {
    if (!has(library, target.environment)) return `the development files of ${library} for ${target.c}`
  }
  if (process.platform === "darwin" || target.libraries.length === 0 || has("libsecret-1", target.headers))
    return undefined
  return "the development files of libsecret-1"
}
