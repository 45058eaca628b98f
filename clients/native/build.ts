// Builds the core: bundles it with the contract for browsers, and compiles the bundle to bytecode with the engine that
// runs it. Equal inputs give equal bytes.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join, relative } from "node:path"
import { gzipSync } from "node:zlib"
import { build, type Plugin } from "esbuild"
import { startEngine } from "./wasm/engine.ts"

const root = join(import.meta.dirname, "../..")
const target = join(root, "dist/native")
/** quickjs.wasm of quickjs-wasi 3.6.2: QuickJS-ng 0.17.0. */
const engineSha256 = "d4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9"
const buildBytes = 512 * 1024 * 1024

export interface BuiltCore {
  /** QuickJS-ng as WebAssembly. */
  readonly wasm: Uint8Array<ArrayBuffer>
  /** The core as bytecode of exactly that engine. */
  readonly bytecode: Uint8Array<ArrayBuffer>
}

let running: Promise<BuiltCore> | undefined

/** Builds the core, unless it was built from the same inputs before. Calls at the same time share a build. */
export function buildCore(): Promise<BuiltCore> {
  running ??= buildOnce().finally(() => {
    running = undefined
  })
  return running
}

async function buildOnce(): Promise<BuiltCore> {
  const wasm = readEngine()
  const inputs = hashOfInputs()
  const files = {
    inputs: join(target, "inputs.sha256"),
    core: join(target, "core.bc"),
    wasm: join(target, "quickjs.wasm"),
  }
  if (existsSync(files.inputs) && readFileSync(files.inputs, "utf8") === inputs) {
    return { wasm, bytecode: new Uint8Array(readFileSync(files.core)) }
  }
  const scratch = join(target, `.build-${process.pid}`)
  mkdirSync(scratch, { recursive: true })
  try {
    const bytecode = compile(wasm, await bundle(scratch))
    place(scratch, files.core, bytecode)
    place(scratch, files.wasm, wasm)
    place(scratch, files.inputs, utf8.encode(inputs))
    return { wasm, bytecode }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const utf8 = new TextEncoder()

/** Atomically: tests in other processes build, too. */
function place(scratch: string, path: string, bytes: Uint8Array): void {
  const fresh = join(scratch, "fresh")
  writeFileSync(fresh, bytes)
  renameSync(fresh, path)
}

/** @throws Error for another file than the pinned one. */
function readEngine(): Uint8Array<ArrayBuffer> {
  const path = createRequire(import.meta.url).resolve("quickjs-wasi/quickjs.wasm")
  const wasm = new Uint8Array(readFileSync(path))
  const found = createHash("sha256").update(wasm).digest("hex")
  if (found !== engineSha256) throw new Error(`quickjs.wasm has the SHA-256 ${found}, and not ${engineSha256}`)
  return wasm
}

function hashOfInputs(): string {
  const hash = createHash("sha256")
  const folders = ["proto", "clients/core", "clients/native/core"]
  const found = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) => join(folder, path)),
  )
  const isInput = (path: string) =>
    /\.(ts|proto)$/.test(path) && !/\.test\.ts$|\/(testing|vectors|node_modules)\//.test(path)
  const others = ["package-lock.json", "buf.gen.web.yaml", "clients/native/build.ts"]
  for (const path of [...found.filter(isInput), ...others].sort()) {
    const content = readFileSync(join(root, path))
    hash.update(`${path} ${content.length}\n`).update(content)
  }
  return hash.digest("hex")
}

/** @returns The script of the core. */
async function bundle(scratch: string): Promise<string> {
  execFileSync(join(root, "node_modules/.bin/buf"), ["generate", "--template", "buf.gen.web.yaml", "-o", scratch], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  })
  const { outputFiles } = await build({
    entryPoints: [join(root, "clients/native/core/main.ts")],
    absWorkingDir: root,
    bundle: true,
    minify: true,
    format: "iife",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["import"],
    target: "es2024",
    legalComments: "none",
    write: false,
    logLevel: "warning",
    // In a temporary folder the contract has no packages beside it.
    nodePaths: [join(root, "node_modules")],
    plugins: [replacements(join(scratch, "web"))],
  })
  const [script] = outputFiles
  if (script === undefined) throw new Error("the bundle has no script")
  return script.text
}

const replaced: Readonly<Record<string, string>> = {
  "@noble/hashes/sha2.js": "sha2.ts",
  "@noble/hashes/hmac.js": "hmac.ts",
  "@noble/hashes/hkdf.js": "hkdf.ts",
  "@signet/canonical/ed25519": "ed25519.ts",
  "hash-wasm": "argon2.ts",
}

/**
 * The contract for browsers, the host's primitives in the place of portable cryptography, and descriptors of the contract
 * as bytes: base64 hides their repetitions from compression, and the engine decodes it slowly.
 */
function replacements(contract: string): Plugin {
  const own = (file: string) => ({ path: join(root, "clients/native/core/replaced", file) })
  return {
    name: "the core's modules",
    setup({ onLoad, onResolve }) {
      onLoad({ filter: /_pb\.js$/ }, ({ path }) => {
        if (path.endsWith("/wkt/google/protobuf/descriptor_pb.js")) {
          return { contents: withoutOptions(readFileSync(path, "utf8")) }
        }
        const toBytes = (_: string, base64: string) => `fileDesc(${latin1Literal(Buffer.from(base64, "base64"))}`
        return { contents: readFileSync(path, "utf8").replace(/\bfileDesc\("([\w+/=]+)"/g, toBytes) }
      })
      onResolve({ filter: /\/base64-encoding\.js$/ }, ({ importer }) =>
        importer.endsWith("/codegenv2/file.js") ? own("descriptor-bytes.ts") : undefined,
      )
      onResolve({ filter: /^@signet\/proto\// }, ({ path }) => {
        const name = path.slice("@signet/proto/".length)
        const isForeign = /^(google|grpc)\//.test(name)
        return { path: join(contract, isForeign ? `${name}_pb.js` : `signet/${name}_pb.js`) }
      })
      onResolve({ filter: /^(@noble|@hpke|@signet\/canonical\/ed25519|hash-wasm)/ }, ({ path, importer }) => {
        const file = replaced[path]
        if (file !== undefined) return own(file)
        return {
          errors: [{ text: `${relative(root, importer)} imports ${path}, which the core has no host function for` }],
        }
      })
      onResolve({ filter: /^\.\/ed25519\.ts$/ }, ({ importer }) =>
        relative(root, importer).startsWith("proto/canonical/") ? own("ed25519.ts") : undefined,
      )
    },
  }
}

/** Messages of the descriptor of descriptors that only compilers read, and their fields and enums that the run time reads. */
const ofCompilers = /Options$|^(UninterpretedOption|FeatureSet|FeatureSetDefaults|SourceCodeInfo|GeneratedCodeInfo)$/
const readAtRunTime = new Set([
  ...["deprecated", "features", "idempotency_level", "jstype", "map_entry", "packed", "IdempotencyLevel", "JSType"],
  ...["field_presence", "enum_type", "repeated_field_encoding", "utf8_validation", "message_encoding", "json_format"],
  ...["FieldPresence", "EnumType", "RepeatedFieldEncoding", "Utf8Validation", "MessageEncoding", "JsonFormat"],
])

interface DescribedMessage {
  readonly name: string
  field?: { readonly name: string; options?: unknown }[]
  nestedType?: DescribedMessage[]
  enumType?: { readonly name: string }[]
  extensionRange?: unknown
}

/** The descriptor of descriptors, without most options, comments and positions. */
function withoutOptions(script: string): string {
  const [, before = "", json = "", after = ""] = /^(.*\bboot\()(\{.*\})(\);\n.*)$/s.exec(script) ?? []
  const file: { messageType: DescribedMessage[] } = JSON.parse(json)
  const reduce = (message: DescribedMessage): void => {
    delete message.extensionRange
    for (const field of message.field ?? []) delete field.options
    for (const nested of message.nestedType ?? []) reduce(nested)
  }
  for (const message of file.messageType) {
    reduce(message)
    if (!ofCompilers.test(message.name)) continue
    delete message.nestedType
    message.field = message.field?.filter(({ name }) => readAtRunTime.has(name))
    message.enumType = message.enumType?.filter(({ name }) => readAtRunTime.has(name))
  }
  // An unused enum is left out if its function is called without another effect.
  const enums = /export var (\w+);\n\(function \(\1\) \{(.*?)\n\}\)\(\1 \|\| \(\1 = \{\}\)\);/gs
  const pure = "export const $1 = /*@__PURE__*/ (function ($1) {$2\nreturn $1; })({});"
  return before + JSON.stringify(file) + after.replaceAll(enums, pure)
}

/** A string literal with a character for each byte. */
const latin1Literal = (bytes: Buffer) =>
  `"${bytes.toString("latin1").replace(/[^ !#-[\]-~]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`)}"`

function compile(wasm: Uint8Array<ArrayBuffer>, script: string): Uint8Array<ArrayBuffer> {
  const host = { call: () => undefined, nowNanoseconds: () => 0n, random: (length: number) => new Uint8Array(length) }
  const engine = startEngine(new WebAssembly.Module(wasm), host, buildBytes)
  return new Uint8Array(engine.compile(script))
}

if (import.meta.filename === process.argv[1]) {
  const { wasm, bytecode } = await buildCore()
  for (const [name, bytes] of Object.entries({ "quickjs.wasm": wasm, "core.bc": bytecode })) {
    console.log(`dist/native/${name}: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} with gzip`)
  }
}
