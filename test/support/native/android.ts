// Builds the client for Android and its tests, which run on the JVM with a fake Keystore.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { androidAll, compileAndroid, fetchAndroidAll } from "../../../clients/android/build.ts"
import { type BuiltJvm, buildJvm, hashOf, whyNoJvm } from "./jvm.ts"

const root = resolve(import.meta.dirname, "../../..")

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
  const [classes, tests, stamp] = ["classes", "test-classes", "inputs.sha256"].map((name) => join(target, name)) as [
    string,
    string,
    string,
  ]
  const inputs = hashOf(["clients/android/src", "clients/jvm/src", "proto/signet/client/v1", "proto/signet/host/v1"])
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== inputs) {
    const jars = jvm.classPath.split(":")
    compileAndroid(jars, classes)
    compileAndroid([classes, ...jars], tests, "test")
    mkdirSync(target, { recursive: true })
    writeFileSync(stamp, inputs)
  }
  return { ...jvm, classes, classPath: [classes, tests, jvm.classPath, androidAll].join(":") }
}
