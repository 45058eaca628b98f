// Assembles the AAR of the client for Android: `npm run native:android`. No NDK is needed: libraries are given.
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"

const here = import.meta.dirname
const version = "0.1.0"
const androidVersion = "13-robolectric-9030017"
/** Android's classes, with their code: of API level 33. */
export const androidAll = join(
  homedir(),
  `.m2/repository/org/robolectric/android-all/${androidVersion}/android-all-${androidVersion}.jar`,
)
const minSdk = 33
/** The number of the processor in an ELF header. */
const machines: Readonly<Record<string, number>> = { "arm64-v8a": 183, x86_64: 62 }

/** Downloads Android's classes, 178 MB, unless they are there. */
export function fetchAndroidAll(): void {
  if (existsSync(androidAll)) return
  const artifact = `org.robolectric:android-all:${androidVersion}`
  execFileSync("mvn", ["-q", "-B", "-ntp", "dependency:get", "-Dtransitive=false", `-Dartifact=${artifact}`])
}

/**
 * Compiles the module.
 *
 * @param classPath The client for the JVM and its libraries.
 * @param part `main` or `test`.
 */
export function compileAndroid(classPath: readonly string[], into: string, part: "main" | "test" = "main"): void {
  const folder = join(here, "src", part, "java")
  const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".java"))
  const lint = ["-Xlint:all,-processing,-classfile", "-Werror", "-proc:none"]
  rmSync(into, { recursive: true, force: true })
  mkdirSync(into, { recursive: true })
  const path = [...classPath, androidAll].join(":")
  execFileSync("javac", [
    "--release",
    "17",
    ...lint,
    "-cp",
    path,
    "-d",
    into,
    ...sources.map((one) => join(folder, one)),
  ])
}

/**
 * Assembles the AAR.
 *
 * @param classes The compiled module.
 * @param natives A folder of `<abi>/libsignet-jni.so` for Android; undefined for an AAR without libraries.
 * @returns The file.
 */
export function assembleAar(classes: string, into: string, natives?: string): string {
  const contents = join(into, "aar")
  rmSync(contents, { recursive: true, force: true })
  mkdirSync(join(contents, "jni"), { recursive: true })
  execFileSync("jar", ["cf", join(contents, "classes.jar"), "-C", classes, "."])
  const manifest = readFileSync(join(here, "src/main/AndroidManifest.xml"), "utf8")
  const named = manifest
    .replace(/<!--.*-->\n/, "")
    .replace(
      /<manifest ([^>]*)>/,
      `<manifest $1 package="dev.signet.client.android">\n  <uses-sdk android:minSdkVersion="${minSdk}" />`,
    )
  writeFileSync(join(contents, "AndroidManifest.xml"), named)
  cpSync(join(here, "consumer-rules.pro"), join(contents, "proguard.txt"))
  writeFileSync(join(contents, "R.txt"), "")
  const metadata = join(contents, "META-INF/com/android/build/gradle")
  mkdirSync(metadata, { recursive: true })
  const values = [
    "aarFormatVersion=1.0",
    "aarMetadataVersion=1.0",
    `minCompileSdk=${minSdk}`,
    "minCompileSdkExtension=0",
  ]
  writeFileSync(join(metadata, "aar-metadata.properties"), `${values.join("\n")}\n`)
  if (natives !== undefined) copyNatives(natives, join(contents, "jni"))
  const file = join(into, `signet-client-android-${version}.aar`)
  execFileSync("jar", ["cfM", file, "-C", contents, "."])
  return file
}

function copyNatives(from: string, into: string): void {
  for (const abi of readdirSync(from)) {
    const library = join(from, abi, "libsignet-jni.so")
    const head = readFileSync(library)
    if (head.readUInt16LE(18) !== machines[abi]) throw new Error(`${library} is not a library for ${abi}`)
    // A library of a desktop has the same header, and does not load on Android.
    if (head.includes("libc.so.6")) throw new Error(`${library} needs the C library of a desktop`)
    cpSync(join(from, abi), join(into, abi), { recursive: true })
  }
}

if (import.meta.filename === process.argv[1]) {
  const { values } = parseArgs({ options: { natives: { type: "string" } } })
  const jvm = join(here, "../jvm")
  const jars = join(jvm, "target/class-path")
  const goals = ["compile", "dependency:build-classpath", "-DincludeScope=test", `-Dmdep.outputFile=${jars}`]
  execFileSync("mvn", ["-q", "-B", "-ntp", "-f", jvm, ...goals], { stdio: "inherit" })
  fetchAndroidAll()
  const into = join(here, "../../dist/native/android-aar")
  compileAndroid([join(jvm, "target/classes"), ...readFileSync(jars, "utf8").split(":")], join(into, "classes"))
  const file = assembleAar(join(into, "classes"), into, values.natives)
  console.log(values.natives === undefined ? `${file}, without native libraries` : file)
}
