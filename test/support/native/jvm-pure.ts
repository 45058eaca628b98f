// Builds the host of the client for the JVM that has no libsignet, with the tests of that client.
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { buildCore } from "../../../clients/native/build.ts"
import { type BuiltTests, hashOf, mavenCommand, runOnce } from "./jvm.ts"

const root = resolve(import.meta.dirname, "../../..")
const project = join(root, "clients/jvm/pure")

/** The tool that the machine lacks, as a sentence; undefined if it can run the tests. */
export const whyNoPureJvm: string | undefined = (() => {
  try {
    execFileSync("mvn", ["--version"], { stdio: "ignore" })
    return undefined
  } catch {
    return "the JVM's host without libsignet is not built: Maven is missing"
  }
})()

/** Compiles with Maven, unless the same sources were compiled before. */
export async function buildPureJvm(): Promise<BuiltTests> {
  await buildCore()
  const target = join(project, "target")
  mkdirSync(target, { recursive: true })
  const jars = join(target, "class-path")
  const sources = ["clients/jvm/pure/src", "clients/jvm/src", "proto/signet/client/v1", "proto/signet/host/v1"]
  const core = readFileSync(join(root, "dist/native/inputs.sha256"), "utf8")
  const inputs = core + hashOf(sources, "clients/jvm/pure/pom.xml")
  const goals = ["test-compile", "dependency:build-classpath", "-DincludeScope=test", `-Dmdep.outputFile=${jars}`]
  // The client is compiled again, in a folder of its own: other tests run its classes.
  runOnce(
    join(target, "inputs.sha256"),
    inputs,
    mavenCommand(
      join(project, "../reactor.xml"),
      "-pl",
      ":signet-client-pure",
      "-am",
      "-Dbuild.folder=target/pure",
      ...goals,
    ),
  )
  const client = join(root, "clients/jvm/target/pure")
  const classes = [target, client].flatMap((folder) => [join(folder, "classes"), join(folder, "test-classes")])
  return {
    classPath: [...classes, readFileSync(jars, "utf8")].join(":"),
    flags: [
      "-Ddev.signet.client.test.host=dev.signet.client.pure.PureJavaHost",
      // Deadlines of JUnit are for a machine without load.
      "-Djunit.jupiter.execution.timeout.mode=disabled",
      "-Xmx512m",
    ],
  }
}
