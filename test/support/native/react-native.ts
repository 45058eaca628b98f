// Builds the native module of React Native with React Native's own sources on JavaScriptCore, and runs it.
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { basename, join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { build } from "esbuild"
import { createFileLock } from "../../../clients/node/file-lock.ts"
import { buildNative, whyNoLibrary } from "./library.ts"
import { unpacked } from "./pinned-package.ts"

const root = resolve(import.meta.dirname, "../../..")
const project = join(root, "clients/react-native")
const harness = join(project, "testing/jsc")
const target = join(root, "dist/native/react-native")

const reactNative = {
  name: "react-native",
  version: "0.76.9",
  integrity: "+LRwecWmTDco7OweGsrECIqJu0iyrREd6CTCgC/uLLYipiHvk+MH9nd6drFtCw/6Blz6eoKTcH9YTTJusNtrWg==",
}
/** The newest Hermes that is a package of its own. */
const hermes = {
  name: "hermes-engine-cli",
  version: "0.12.0",
  integrity: "72a5yvwSC2qWtxJ80nlcoCCfNTkpYI8VVAfOro4FL9O105NM8Vpigz/A5Nq1rECKdP7M1N81HHiYL6jU5N1gYw==",
}
/** The code generator, and a package that it loads. */
const codegen = { "@react-native/codegen": reactNative.version, "@babel/preset-env": "7.25.3" }

/** The tool that the machine lacks, as a sentence; undefined if it can run the tests. */
export const whyNoJsi: string | undefined = (() => {
  if (whyNoLibrary !== undefined) return whyNoLibrary
  const why = (missing: string) => `the native module of React Native is not built: ${missing}`
  if (spawnSync("clang++", ["--version"], { stdio: "ignore" }).error !== undefined) return why("clang++ is missing")
  const hasEngine = spawnSync("pkg-config", ["--exists", "javascriptcoregtk-4.1"]).status === 0
  return hasEngine ? undefined : why("the development files of JavaScriptCore are missing")
})()

/** React Native's sources. @returns The folder of its package. */
export const reactNativeSources = (): string => unpacked(reactNative)

/** Installs React Native's code generator. @returns The folder of its project. */
function installCodegen(): string {
  const tools = join(root, "node_modules/.cache/signet", `react-native-codegen-${reactNative.version}`)
  if (existsSync(tools)) return tools
  // Renamed once it is whole: an installation may be interrupted.
  const fresh = `${tools}.${process.pid}`
  mkdirSync(fresh, { recursive: true })
  writeFileSync(join(fresh, "package.json"), JSON.stringify({ private: true, dependencies: codegen }))
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], { cwd: fresh })
  renameSync(fresh, tools)
  return tools
}

/** Runs React Native's code generator on the spec. @returns The folder of SignetSpecJSI.h. */
function generateSpec(): string {
  const tools = installCodegen()
  const into = join(target, "generated")
  mkdirSync(into, { recursive: true })
  const script = `
    const { TypeScriptParser } = require("@react-native/codegen/lib/parsers/typescript/parser")
    const { generate } = require("@react-native/codegen/lib/generators/RNCodegen")
    const [spec, outputDirectory] = process.argv.slice(1)
    const schema = new TypeScriptParser().parseFile(spec)
    const options = { libraryName: "SignetSpec", schema, outputDirectory, packageName: "dev.signet.reactnative" }
    generate({ ...options, assumeNonnull: true, useLocalIncludePaths: true }, { generators: ["modulesCxx"], test: false })`
  execFileSync(process.execPath, ["-e", script, join(project, "spec/NativeSignet.ts"), into], { cwd: tools })
  return into
}

export interface JscBuild {
  readonly program: string
  /** The bundle of member.ts. */
  readonly bundle: string
}

const words = (command: string, ...args: string[]) =>
  execFileSync(command, args, { encoding: "utf8" }).trim().split(/\s+/)
const library = "javascriptcoregtk-4.1"

/** Test files of other processes build the same files. */
const builds = createFileLock(join(target, "react-native.lock"), { waitMs: 900_000, staleMs: 900_000 })

/** Compiles what has changed. */
export const buildJsc = (): Promise<JscBuild> => builds.run(compileJsc)

async function compileJsc(): Promise<JscBuild> {
  const libraries = (await buildNative()).folder
  const sources = join(reactNativeSources(), "ReactCommon")
  const generated = generateSpec()
  const core = join(sources, "react/nativemodule/core")
  const flags = [
    ...[harness, join(project, "cpp"), join(root, "clients/native/c"), generated, sources, core].map(
      (path) => `-I${path}`,
    ),
    ...["jsi", "callinvoker", "runtimeexecutor"].map((path) => `-I${join(sources, path)}`),
    ...words("pkg-config", "--cflags", library),
    // Without the logging library of React Native's debug build.
    "-DNDEBUG",
  ]
  const theirs = [
    ...["jsi/jsi/jsi.cpp", "jsc/JSCRuntime.cpp"].map((path) => join(sources, path)),
    join(core, "ReactCommon/TurboModule.cpp"),
    join(generated, "SignetSpecJSI-generated.cpp"),
  ]
  const ours = [...filesIn(join(project, "cpp"), ".cpp"), join(harness, "main.cpp")]
  const objects = [
    ...compile(theirs, [...flags, "-w"], hashOf(filesIn(join(harness, "folly"), ".h"))),
    ...compile(ours, [...flags, ...strict, "-Wno-unused-parameter"], ourHeaders()),
  ]
  const program = join(target, "jsc-host")
  const libs = [`-L${libraries}`, "-lsignet", `-Wl,-rpath,${libraries}`, ...words("pkg-config", "--libs", library)]
  link(program, objects, libs)
  return { program, bundle: await bundleMember() }
}

/** The program of engine_test.cpp, with a sanitizer of clang. */
export const buildEngineTest = (sanitize: string): Promise<string> => builds.run(() => compileEngineTest(sanitize))

async function compileEngineTest(sanitize: string): Promise<string> {
  const libraries = (await buildNative()).folder
  const flag = `-fsanitize=${sanitize}`
  const includes = [`-I${join(project, "cpp")}`, `-I${join(root, "clients/native/c")}`]
  const sources = [
    ...["engine", "wire"].map((name) => join(project, `cpp/${name}.cpp`)),
    join(project, "testing/engine_test.cpp"),
  ]
  const objects = compile(sources, [...includes, ...strict, flag, "-g"], ourHeaders())
  const program = join(target, `engine-test-${sanitize.replaceAll(",", "-")}`)
  link(program, objects, [flag, `-L${libraries}`, "-lsignet-test", `-Wl,-rpath,${libraries}`, "-lpthread"])
  return program
}

const strict = ["-Wall", "-Wextra", "-Werror"]
const ourHeaders = () =>
  hashOf([...filesIn(join(project, "cpp"), ".h"), ...filesIn(harness, ".h"), join(root, "clients/native/c/signet.h")])

/** @param headers A hash of the headers that change. @returns The object files. */
function compile(sources: readonly string[], flags: readonly string[], headers: string): string[] {
  const objects = join(target, "objects")
  mkdirSync(objects, { recursive: true })
  return sources.map((source) => {
    const args = ["-std=c++20", "-O1", ...flags, "-c", source]
    const key = createHash("sha256")
      .update(JSON.stringify([args, headers]))
      .update(readFileSync(source))
      .digest("hex")
    const object = join(objects, `${basename(source, ".cpp")}-${key.slice(0, 16)}.o`)
    if (!existsSync(object)) {
      execFileSync("clang++", [...args, "-o", `${object}.new`], { stdio: ["ignore", "inherit", "inherit"] })
      renameSync(`${object}.new`, object)
    }
    return object
  })
}

/** Links anew only other objects: a test of another process may run the program. */
function link(program: string, objects: readonly string[], libs: readonly string[]): void {
  const stamp = `${program}.inputs`
  const inputs = JSON.stringify([objects, libs])
  if (existsSync(program) && existsSync(stamp) && readFileSync(stamp, "utf8") === inputs) return
  execFileSync("clang++", [...objects, "-o", `${program}.new`, ...libs], { stdio: ["ignore", "inherit", "inherit"] })
  renameSync(`${program}.new`, program)
  writeFileSync(stamp, inputs)
}

const filesIn = (folder: string, ending: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => join(folder, name))

function hashOf(files: readonly string[]): string {
  const hash = createHash("sha256")
  for (const file of files) hash.update(file).update(readFileSync(file))
  return hash.digest("hex")
}

async function bundleMember(entry = "member"): Promise<string> {
  const outfile = join(target, `${entry}.js`)
  const fresh = `${outfile}.${process.pid}`
  await build({
    entryPoints: [join(harness, `${entry}.ts`)],
    ...{ bundle: true, format: "iife", target: "es2022", outfile: fresh, logLevel: "warning" },
    alias: { "react-native": join(harness, "registry.ts") },
  })
  renameSync(fresh, outfile)
  return outfile
}

/** Runs the lines of a member again, with the native side of the transcript. @returns The printed lines. */
type Replay = (transcript: unknown, lines: readonly string[]) => string[]

/** Prepares replays on Hermes. The bundle is transformed as React Native's build does. */
export const hermesReplay = (): Promise<Replay> => builds.run(prepareReplay)

async function prepareReplay(): Promise<Replay> {
  const program = join(unpacked(hermes), "linux64-bin/hermes")
  chmodSync(program, 0o755)
  const script = `
    const [from, to] = process.argv.slice(1)
    const { transformFileSync } = require("@babel/core")
    const preset = [require.resolve("@babel/preset-env"), { targets: { ie: 11 }, exclude: ["transform-exponentiation-operator"] }]
    const { code } = transformFileSync(from, { presets: [preset], babelrc: false, configFile: false, compact: true })
    require("fs").writeFileSync(to, code)`
  const transformed = join(target, "replay-es5.js")
  const bundle = await bundleMember("replay-main")
  execFileSync(process.execPath, ["-e", script, bundle, transformed], { cwd: installCodegen() })
  return (transcript, lines) => {
    const given = `globalThis.transcript = ${JSON.stringify(transcript)}; globalThis.lines = ${JSON.stringify(lines)};\n`
    const whole = join(target, "replay.js")
    writeFileSync(whole, given + readFileSync(transformed, "utf8"))
    return execFileSync(program, [whole], { encoding: "utf8", maxBuffer: 1 << 26 })
      .trim()
      .split("\n")
  }
}

/** A process with React Native's JavaScript interface. */
export interface JsiMember {
  /** Runs a command of member.ts. @throws Error with `name` and `reason` for a failure. */
  ask<Answer = unknown>(command: string, given?: unknown): Promise<Answer>
  /** The lines that were written, and those that were printed. */
  readonly written: readonly string[]
  readonly printed: readonly string[]
  /** The lines of the file of secrets: a primitive's number, and bytes. */
  secrets(): { readonly primitive: number; readonly bytes: Uint8Array }[]
  errors(): string
  /** Ends the input. @returns The exit code, or the signal. */
  end(): Promise<number | string>
  kill(): void
}

export function startJsiMember(
  { program, bundle }: JscBuild,
  { folder, name, origins }: { readonly folder: string; readonly name: string; readonly origins: readonly string[] },
): JsiMember {
  const data = join(folder, name)
  mkdirSync(data, { recursive: true })
  const secretsFile = join(folder, `${name}.secrets`)
  const child = spawn(program, [data, origins.join(" "), secretsFile, bundle], { stdio: ["pipe", "pipe", "pipe"] })
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let errors = ""
  let last = 0
  child.stdin.on("error", () => undefined)
  child.stderr.on("data", (text) => {
    errors += text
  })
  const ended = new Promise<number | string>((resolve) => {
    child.on("exit", (code, signal) => {
      resolve(code ?? signal ?? "")
      for (const { reject } of waiting.values())
        reject(new Error(`the program ended with ${code ?? signal}:\n${errors}`))
    })
  })
  const [written, printed]: [string[], string[]] = [[], []]
  createInterface({ input: child.stdout }).on("line", (line) => {
    printed.push(line)
    const { id, ok, failed } = JSON.parse(line)
    const call = waiting.get(id)
    waiting.delete(id)
    if (failed === undefined) call?.resolve(ok)
    else call?.reject(Object.assign(new Error(failed.message), failed))
  })
  return {
    ...{ written, printed },
    ask: <Answer>(command: string, given: unknown = null) =>
      new Promise<Answer>((resolve, reject) => {
        last += 1
        waiting.set(last, { resolve: (value) => resolve(value as Answer), reject })
        const line = JSON.stringify({ id: last, command, given })
        written.push(line)
        child.stdin.write(`${line}\n`)
      }),
    secrets: () =>
      readFileSync(secretsFile, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => {
          const [primitive, hex = ""] = line.split(" ")
          return { primitive: Number(primitive), bytes: new Uint8Array(Buffer.from(hex, "hex")) }
        }),
    errors: () => errors,
    end() {
      child.stdin.end()
      return ended
    },
    kill: () => void child.kill("SIGKILL"),
  }
}
