// Builds the boxes of desktops for the JVM, and the fakes of the system libraries that they call.
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync } from "node:fs"
import { homedir } from "node:os"
import { join, resolve } from "node:path"
import { buildJvm, hashOf, mavenCommand, runOnce } from "./jvm.ts"

const root = resolve(import.meta.dirname, "../../..")
const project = join(root, "clients/jvm/boxes")

/** The jar of JNA, which Maven has downloaded. */
function jnaJar(): string {
  const pom = readFileSync(join(project, "pom.xml"), "utf8")
  const version = /<artifactId>jna<\/artifactId>\s*<version>(.+?)</.exec(pom)?.[1]
  return join(homedir(), `.m2/repository/net/java/dev/jna/jna/${version}/jna-${version}.jar`)
}

/** Builds libraries with the functions of crypt32.dll, CoreFoundation and Security that the boxes call. */
function buildFakes(into: string): void {
  mkdirSync(into, { recursive: true })
  const flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
  const crypt32 = ["-std=gnu11", join(project, "src/test/c/crypt32.c"), "-o", join(into, "libfake-crypt32.so")]
  execFileSync("gcc", [...flags, ...crypt32])
  const apple = join(root, "clients/native/c/test/apple")
  const sources = ["security.cpp", "core_foundation.cpp"].map((name) => join(apple, name))
  execFileSync("g++", [...flags, "-std=c++17", "-I", apple, ...sources, "-o", join(into, "libfake-security.so")])
}

export interface BuiltBoxes {
  readonly classPath: string
  /** Options of `java`. */
  readonly options: readonly string[]
}

/** Compiles with Maven, unless the same sources were compiled before. */
export async function buildBoxes(): Promise<BuiltBoxes> {
  const jvm = await buildJvm()
  const target = join(project, "target")
  const fakes = join(target, "fakes")
  buildFakes(fakes)
  const sources = ["clients/jvm/boxes/src", "clients/jvm/src", "proto/signet/client/v1", "proto/signet/host/v1"]
  const inputs = hashOf(sources, "clients/jvm/boxes/pom.xml")
  // The client is compiled again, in a folder of its own: other tests run its classes.
  const goals = ["-pl", "boxes", "-am", "-Dbuild.folder=target/boxes", "test-compile"]
  runOnce(join(target, "inputs.sha256"), inputs, mavenCommand(join(project, "../reactor.xml"), ...goals))
  const classes = [join(target, "classes"), join(target, "test-classes")]
  return {
    classPath: [...classes, jvm.classPath, jnaJar()].join(":"),
    options: [`-Ddev.signet.client.boxes.fakes=${fakes}`],
  }
}
