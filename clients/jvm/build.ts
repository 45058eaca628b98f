// Builds the libraries that the jar carries, after libsignet: `npm run native:jvm`, and with `-- --target linux-arm64` those
// of another processor beside them.
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

/**
 * Builds libsignet-jni.so beside a copy of libsignet.so.1, which it finds in its own folder.
 *
 * @param library The folder of libsignet.so.1.
 */
export function buildJni(library: string, into: string, platform: string = ownTarget): void {
  const { c } = targetOf(platform)
  // The declarations of jni.h are those of every processor.
  const headers = jniHeaders()
  if (headers === undefined) throw new Error("jni.h is missing: install a JDK of version 17 or later")
  mkdirSync(into, { recursive: true })
  const flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-fPIC", "-shared", "-fvisibility=hidden", "-s"]
  const includes = [headers, join(headers, "linux"), join(here, "../native/c")].flatMap((folder) => ["-I", folder])
  const linked = ["-Wl,-z,relro,-z,now,-z,noexecstack,--no-undefined", "-Wl,-rpath,$ORIGIN"]
  const source = join(here, "src/main/c/signet_jni.c")
  const built = join(into, "libsignet-jni.so")
  const target = join(library, "libsignet.so")
  execFileSync(c, [...flags, ...includes, source, target, ...linked, "-o", `${built}.${process.pid}`])
  copyFileSync(join(library, "libsignet.so.1"), join(into, `libsignet.so.1.${process.pid}`))
  execFileSync(c.replace(/gcc$/, "strip"), ["--strip-unneeded", join(into, `libsignet.so.1.${process.pid}`)])
  for (const name of ["libsignet-jni.so", "libsignet.so.1"]) {
    // A process may have the old file mapped.
    execFileSync("mv", ["-f", join(into, `${name}.${process.pid}`), join(into, name)])
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
