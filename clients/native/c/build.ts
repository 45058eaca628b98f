// Builds libsignet: translates the engine to C once, and runs CMake. `npm run native:c` builds into dist/native/c.
import { execFileSync, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { missingTool, ownTarget, type Target, targetOf } from "./targets.ts"

const here = import.meta.dirname
const root = resolve(here, "../../..")
/** quickjs.wasm of quickjs-wasi 3.6.2. Bytecode runs only in the engine that compiled it. */
const engineHash = "d4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9"
const engineFlags = [
  ...["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections", "-w"],
  // Without it gcc calls the accessors of memory in the interpreter's large function, which takes a fifth longer.
  "-Dinline=__inline__ __attribute__((always_inline))",
]
const cache = join(root, "node_modules/.cache/signet/native")

/**
 * Each generated function checks the stack that its thread has left, in place of a count of calls. The limit is behind the
 * instance: a variable of the thread is slow on Windows.
 */
const prologue = {
  generated: "#define FUNC_PROLOGUE\n",
  ours: [
    "#define FUNC_PROLOGUE \\",
    "  char here; \\",
    "  if (UNLIKELY((uintptr_t)&here < *(const uintptr_t *)(instance + 1))) TRAP(EXHAUSTION);\n",
  ].join("\n"),
}

const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex")

/**
 * Translates quickjs.wasm to an object file, or finds it in the cache.
 *
 * @returns A folder with quickjs.h and quickjs.o.
 */
function buildEngine({ c }: Target): string {
  const wasm = createRequire(import.meta.url).resolve("quickjs-wasi/quickjs.wasm")
  const bytes = readFileSync(wasm)
  if (sha256(bytes) !== engineHash) throw new Error("quickjs.wasm is not the one of quickjs-wasi 3.6.2")
  const header = readFileSync(join(here, "engine/wasm-rt.h"))
  const tools = ["wasm2c", c].map((tool) => execFileSync(tool, ["--version"], { encoding: "utf8" }).split("\n")[0])
  const folder = join(
    cache,
    sha256(JSON.stringify([engineHash, sha256(header), tools, engineFlags, prologue])).slice(0, 16),
  )
  if (existsSync(folder)) return folder
  const fresh = `${folder}.${process.pid}`
  mkdirSync(fresh, { recursive: true })
  execFileSync("wasm2c", ["-n", "quickjs", wasm, "-o", join(fresh, "quickjs.c")])
  const parts = readFileSync(join(fresh, "quickjs.c"), "utf8").split(prologue.generated)
  if (parts.length !== 2) throw new Error("wasm2c's output has changed: no FUNC_PROLOGUE to replace")
  // Windows has no alloca.h, and nothing in the file needs it.
  writeFileSync(join(fresh, "quickjs.c"), parts.join(prologue.ours).replace("#include <alloca.h>\n", ""))
  const files = ["-I", join(here, "engine"), "-c", "quickjs.c", "-o", "quickjs.o"]
  execFileSync(c, [...engineFlags, ...files], { cwd: fresh, stdio: "inherit" })
  rmSync(join(fresh, "quickjs.c"))
  if (existsSync(folder)) rmSync(fresh, { recursive: true })
  else renameSync(fresh, folder)
  return folder
}

interface LibraryOptions {
  /** Bytecode of the core. */
  readonly core: string
  /** The build's folder. */
  readonly into: string
  /** Sanitizers of the host, such as `address,undefined`. */
  readonly sanitize?: string
  readonly target: Target
  /** Bytecode of the tests' core: also builds the test programs. */
  readonly testCore?: string
}

/** Builds the library with CMake. Rebuilds only what has changed. */
function buildLibrary({ core, into, sanitize = "", target, testCore = "" }: LibraryOptions): void {
  target.prepare?.()
  const configure = [
    ...["-S", here, "-B", into, `-DSIGNET_ENGINE=${buildEngine(target)}`, `-DSIGNET_CORE=${core}`],
    ...[`-DSIGNET_SANITIZE=${sanitize}`, `-DSIGNET_TEST_CORE=${testCore}`, ...target.cmake],
  ]
  // libFuzzer is clang's.
  if (sanitize.includes("fuzzer")) configure.push("-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++")
  for (const args of [configure, ["--build", into, "--parallel", "2"]]) {
    const run = spawnSync("env", [...target.headers, "cmake", ...args], { encoding: "utf8" })
    if (run.status !== 0) throw new Error(`cmake ${args.join(" ")} failed:\n${run.stdout}\n${run.stderr}`)
  }
}

if (import.meta.filename === process.argv[1]) {
  const { values } = parseArgs({
    options: {
      core: { type: "string", default: join(root, "dist/native/core.bc") },
      into: { type: "string", default: join(root, "dist/native/c") },
      sanitize: { type: "string", default: "" },
      target: { type: "string", default: ownTarget },
      "test-core": { type: "string", default: "" },
    },
  })
  const target = targetOf(values.target)
  const missing = missingTool(target)
  if (missing !== undefined) throw new Error(`${missing} is not installed: see clients/native/c/README.md`)
  buildLibrary({ ...values, target, testCore: values["test-core"] })
  console.log(`${values.into}; install it with: cmake --install ${values.into} --strip`)
}
