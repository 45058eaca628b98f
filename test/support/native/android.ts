// Builds the client for Android and its tests, which run under Robolectric with a fake Keystore.
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, join, resolve } from "node:path"
import { androidAll, compileAndroid, fetchAndroidAll } from "../../../clients/android/build.ts"
import { type BuiltJvm, buildJvm, hashOf, mavenCommand, runOnce, whyNoJvm } from "./jvm.ts"

const root = resolve(import.meta.dirname, "../../..")
const project = "clients/android/src/test/pom.xml"
const instrumented = "android-all-instrumented"
/** Android 13, and the newest of Robolectric 4.14.1. */
const androids = ["13-robolectric-9030017-i7", "15-robolectric-12650502-i7"]

/** The tool that the machine lacks, as a sentence; undefined if it can run the tests. */
export const whyNoAndroid: string | undefined = whyNoJvm?.replace("for the JVM", "for Android")

export interface BuiltAndroid extends BuiltJvm {
  /** The compiled module. */
  readonly classes: string
}

/** Compiles the module and its tests, unless the same sources were compiled before. */
export async function buildAndroid(): Promise<BuiltAndroid> {
  const jvm = await buildJvm()
  fetchAndroidAll()
  const target = join(root, "clients/android/target")
  mkdirSync(target, { recursive: true })
  const [classes, tests, stamp, path] = ["classes", "test-classes", "inputs.sha256", "class-path"].map((name) =>
    join(target, name),
  ) as [string, string, string, string]
  const goals = ["dependency:build-classpath", `-Dmdep.outputFile=${path}`]
  runOnce(`${path}.sha256`, hashOf([], project), mavenCommand(join(root, project), ...goals))
  const libraries = readFileSync(path, "utf8").split(":")
  const robolectric = libraries.filter((jar) => !jar.includes(`/${instrumented}/`)).map((jar) => jarOf(jar, target))
  const inputs = hashOf(
    ["clients/android/src", "clients/jvm/src", "proto/signet/client/v1", "proto/signet/host/v1"],
    project,
  )
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== inputs) {
    const jars = jvm.classPath.split(":")
    compileAndroid(jars, classes)
    compileAndroid([classes, ...jars, ...robolectric], tests, "test")
    writeFileSync(stamp, inputs)
  }
  return {
    ...jvm,
    classes,
    classPath: [classes, tests, jvm.classPath, ...robolectric, androidAll].join(":"),
    // -Xcheck:jni takes a minute with Robolectric's own library. The tests of the client for the JVM have it.
    flags: [
      ...jvm.flags.filter((flag) => flag !== "-Xcheck:jni"),
      "-Xmx512m",
      `-Drobolectric-deps.properties=${writeAndroids(libraries, target)}`,
    ],
  }
}

/** A library of Android is an archive that has a jar. */
function jarOf(library: string, target: string): string {
  if (!library.endsWith(".aar")) return library
  const jar = join(target, basename(library).replace(/aar$/, "jar"))
  if (!existsSync(jar)) writeFileSync(jar, execFileSync("unzip", ["-p", library, "classes.jar"]))
  return jar
}

/** Names the file of each Android for Robolectric, which then downloads none. It also opens the newest one that it knows. */
function writeAndroids(libraries: readonly string[], target: string): string {
  const file = join(target, "robolectric-deps.properties")
  const android = libraries.find((jar) => jar.includes(`/${instrumented}/`))
  const lines = androids.map((version) => `org.robolectric\\:${instrumented}\\:${version}=${android}\n`)
  writeFileSync(file, lines.join(""))
  return file
}
