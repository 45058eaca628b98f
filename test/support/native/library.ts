// Builds libsignet and its test programs, once for all tests that use them.
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join, resolve } from "node:path"
import { buildCore } from "../../../clients/native/build.ts"
import { missingTool, type TargetName, targetOf } from "../../../clients/native/c/targets.ts"
import { startEngine } from "../../../clients/native/wasm/engine.ts"
import { isLong } from "../effort.ts"

const root = resolve(import.meta.dirname, "../../..")
const target = join(root, "dist/native")

/** Why the tests of libsignet do not run, as a sentence; undefined if they do. */
export const whyNoLibrary: string | undefined = (() => {
  const missing = process.platform === "linux" ? missingTool() : "Linux"
  if (missing !== undefined) return `libsignet is not built: ${missing} is missing`
  // The build takes a minute, and its tests as long as all others.
  return isLong ? undefined : "libsignet is not built: npm run test:long builds and tests it"
})()

/** How programs of another system are run here. */
export interface Emulator {
  readonly command: readonly string[]
  /** The end of a program's name. */
  readonly suffix?: string
  readonly env?: NodeJS.ProcessEnv
}

/** Debian installs the libraries of a second architecture where these programs look for them. */
export const arm64Emulator: Emulator = { command: ["qemu-aarch64", "-L", "/"] }

/** Wine, with a registry of its own: outside the repository, because its folder has a link to the whole disk. */
export const wine: Emulator = {
  command: ["wine"],
  suffix: ".exe",
  env: {
    WINEPREFIX: join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "signet/wine"),
    ...{ WINEDEBUG: "-all", WINEDLLOVERRIDES: "mscoree=;mshtml=;winemenubuilder.exe=" },
  },
}

/** Why libsignet does not run for arm64, as a sentence; undefined if it does. */
export const whyNoArm64: string | undefined = (() => {
  if (whyNoLibrary !== undefined) return whyNoLibrary
  if (process.arch !== "x64") return "libsignet is not built for another architecture: this machine is not x64"
  const hasEmulator = spawnSync("qemu-aarch64", ["--version"]).error === undefined
  const missing = missingTool(targetOf("linux-arm64")) ?? (hasEmulator ? undefined : "qemu-aarch64")
  return missing && `libsignet is not built for arm64: ${missing} is missing`
})()

/** Why libsignet does not run for Windows, as a sentence; undefined if it does. */
export const whyNoWindows: string | undefined = (() => {
  if (whyNoLibrary !== undefined) return whyNoLibrary
  if (process.arch !== "x64") return "libsignet is not built for Windows: this machine is not x64"
  const hasWine = spawnSync("wine", ["--version"]).error === undefined
  const missing = missingTool(targetOf("windows-x64")) ?? (hasWine ? undefined : "wine")
  return missing && `libsignet is not built for Windows: ${missing} is missing`
})()

interface NativeBuild {
  /** The folder of libsignet.so, libsignet-test.so, and the test programs. */
  readonly folder: string
}

/**
 * @param sanitize Sanitizers of the host, such as `address,undefined`.
 * @param platform Another system than this machine's.
 */
export async function buildNative(sanitize?: string, platform?: TargetName): Promise<NativeBuild> {
  const { wasm } = await buildCore()
  mkdirSync(target, { recursive: true })
  const script = readFileSync(join(root, "clients/native/c/test/core.js"), "utf8")
  const host = { call: () => undefined, nowNanoseconds: () => 0n, random: (length: number) => new Uint8Array(length) }
  const engine = startEngine(new WebAssembly.Module(wasm), host, 64 * 1024 * 1024)
  const testCore = join(target, "test-core.bc")
  const bytecode = engine.compile(script)
  // A newer file would be linked again, while tests of other processes use the library.
  if (!existsSync(testCore) || !readFileSync(testCore).equals(bytecode)) {
    writeFileSync(`${testCore}.${process.pid}`, bytecode)
    renameSync(`${testCore}.${process.pid}`, testCore)
  }
  const folder = join(target, `c-${(sanitize ?? platform ?? "test").replaceAll(",", "-")}`)
  const args = ["--core", join(target, "core.bc"), "--into", folder, "--test-core", testCore]
  const build = join(root, "clients/native/c/build.ts")
  const variant = [...(sanitize ? ["--sanitize", sanitize] : []), ...(platform ? ["--target", platform] : [])]
  // Test files of other processes build, too.
  execFileSync("flock", [join(target, "c.lock"), process.execPath, build, ...args, ...variant], {
    stdio: ["ignore", "ignore", "inherit"],
  })
  return { folder }
}
