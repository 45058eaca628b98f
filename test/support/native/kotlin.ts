// Builds the Kotlin extensions of the client for the JVM, and the README's program in Kotlin.
import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { homedir } from "node:os"
import { join, resolve } from "node:path"
import { type BuiltJvm, buildJvm, hashOf, mavenCommand, runOnce, whyNoJvm } from "./jvm.ts"

const project = resolve(import.meta.dirname, "../../../clients/jvm/kotlin")

/** Why the tests do not run, as a sentence. */
export const whyNoKotlin = whyNoJvm

/** The jar of a dependency in the project file, which Maven has downloaded. */
function jarOf(group: string, artifact: string): string {
  const pom = readFileSync(join(project, "pom.xml"), "utf8")
  const kotlin = /<kotlin\.version>(.+?)</.exec(pom)?.[1] ?? ""
  const stated = new RegExp(`<artifactId>${artifact}</artifactId>\\s*<version>(.+?)<`).exec(pom)?.[1] ?? ""
  const version = stated.startsWith("$") ? kotlin : stated
  const jar = join(
    homedir(),
    ".m2/repository",
    group.replaceAll(".", "/"),
    artifact,
    version,
    `${artifact}-${version}.jar`,
  )
  if (!existsSync(jar)) throw new Error(`${jar} does not exist`)
  return jar
}

/** Compiles with Maven, unless the same sources were compiled before. */
export async function buildKotlin(): Promise<BuiltJvm> {
  const jvm = await buildJvm()
  const target = join(project, "target")
  mkdirSync(target, { recursive: true })
  const sources = ["clients/jvm/kotlin/src", "clients/jvm/src", "proto/signet/client/v1", "proto/signet/host/v1"]
  const inputs = hashOf(sources, "clients/jvm/kotlin/pom.xml")
  // The client is compiled again, in a folder of its own: other tests run its classes.
  const goals = ["-pl", "kotlin", "-am", "-Dbuild.folder=target/kotlin", "test-compile"]
  runOnce(join(target, "inputs.sha256"), inputs, mavenCommand(join(project, "../reactor.xml"), ...goals))
  const jars = [
    jarOf("org.jetbrains.kotlin", "kotlin-stdlib"),
    jarOf("org.jetbrains.kotlinx", "kotlinx-coroutines-core-jvm"),
  ]
  const classes = [join(target, "classes"), join(target, "test-classes")]
  return { ...jvm, classPath: [...classes, jvm.classPath, ...jars].join(":") }
}
