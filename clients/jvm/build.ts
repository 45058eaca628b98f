// Builds the libraries that the jar carries, after libsignet: `npm run native:jvm`, and with `-- --target linux-arm64` or
// `windows-x64` those of another system beside them.
import { execFileSync } from "node:child_process"
import { copyFileSync, existsSync, mkdirSync, realpathSync } from "node:fs"
import { dirname, join } from "node:path"
import { parseArgs } from "node:util"
import { ownTarget, targetOf } from "../native/c/targets.ts"

const here = import.meta.dirname
const dist = join(here, "../../dist/native")

/** The folder of the libraries that the jar carries for a platform. */
export const jarFolder = (platform: string = ownTarget): string => join(dist, "jvm/natives", platform)

/** The folder with jni.h, of the JDK whose javac is on PATH; undefined without one. */
export function jniHeaders(): string | undefined {
  try {
    const javac = realpathSync(execFileSync("which", ["javac"], { encoding: "utf8" }).trim())
    const folder = join(dirname(javac), "../include")
    return existsSync(join(folder, "jni.h")) ? folder : undefined
  } catch {
    return undefined
  }
}

interface Names {
  readonly library: string
  /** The file that the linker gets. */
  readonly linked: string
  readonly jni: string
  /** The folder with jni_md.h. */
  readonly system: (headers: string) => string
  readonly flags: readonly string[]
}

const onLinux: Names = {
  ...{ library: "libsignet.so.1", linked: "libsignet.so", jni: "libsignet-jni.so" },
  system: (headers) => join(headers, "linux"),
  // The JNI library finds the other one in its own folder.
  flags: ["-fPIC", "-fvisibility=hidden", "-Wl,-z,relro,-z,now,-z,noexecstack,--no-undefined", "-Wl,-rpath,$ORIGIN"],
}
const onWindows: Names = {
  ...{ library: "signet.dll", linked: "libsignet.dll.a", jni: "signet-jni.dll" },
  system: () => join(here, "src/main/c/windows"),
  flags: ["-static", "-Wl,--exclude-all-symbols"],
}

/**
 * Builds the JNI library beside a copy of libsignet.
 *
 * @param library The folder of libsignet.
 */
export function buildJni(library: string, into: string, platform: string = ownTarget): void {
  const { c } = targetOf(platform)
  const names = platform === "windows-x64" ? onWindows : onLinux
  // The declarations of jni.h are those of every processor.
  const headers = jniHeaders()
  if (headers === undefined) throw new Error("jni.h is missing: install a JDK of version 17 or later")
  mkdirSync(into, { recursive: true })
  const flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-s"]
  const includes = [names.system(headers), headers, join(here, "../native/c")].flatMap((folder) => ["-I", folder])
  const source = join(here, "src/main/c/signet_jni.c")
  const fresh = (name: string) => join(into, `${name}.${process.pid}`)
  execFileSync(c, [...flags, ...includes, source, join(library, names.linked), ...names.flags, "-o", fresh(names.jni)])
  copyFileSync(join(library, names.library), fresh(names.library))
  execFileSync(c.replace(/gcc(-posix)?$/, "strip"), ["--strip-unneeded", fresh(names.library)])
  for (const name of [names.jni, names.library]) {
    // A process may have the old file mapped.
    execFileSync("mv", ["-f", fresh(name), join(into, name)])
  }
}

if (import.meta.filename === process.argv[1]) {
  const { target } = parseArgs({ options: { target: { type: "string", default: ownTarget } } }).values
  const [library, into] = [join(dist, target === ownTarget ? "c" : `c-${target}`), jarFolder(target)]
  if (target !== ownTarget) {
    const args = [join(here, "../native/c/build.ts"), "--target", target, "--into", library]
    execFileSync(process.execPath, args, { stdio: "inherit" })
  }
  buildJni(library, into, target)
  console.log(`${into}; the jar has them after: mvn -f clients/jvm package`)
}
