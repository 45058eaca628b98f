// libsignet as it is built and installed on Linux.
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { isNightly } from "../support/effort.ts"
import { optionsBytes } from "../support/native/driver.ts"
import { testInterface } from "../support/native/interface-suite.ts"
import { buildNative, whyNoLibrary } from "../support/native/library.ts"
import { openUnitLibrary, type UnitLibrary } from "../support/native/unit.ts"

/** Names of the interface; signet.h documents each. */
const functions = ["abi_version", "buf_free", "call", "close", "complete", "next", "open", "push"]
const maxLibraryBytes = 2_500_000
const sources = join(import.meta.dirname, "../../clients/native/c")

describe.skipIf(whyNoLibrary !== undefined)(whyNoLibrary ?? "libsignet's interface", () =>
  testInterface(openUnitLibrary),
)

describe.skipIf(whyNoLibrary !== undefined)(whyNoLibrary ?? "libsignet", () => {
  let library: UnitLibrary
  beforeAll(async () => {
    library = await openUnitLibrary()
  }, 900_000)
  afterAll(() => library?.close())

  test("exports exactly the functions of signet.h, and is small", () => {
    const list = execFileSync("nm", ["-D", "--defined-only", join(library.programs, "libsignet.so")], {
      encoding: "utf8",
    })
    const names = list.split("\n").flatMap((line) => / T (\S+?)@@SIGNET_1$/.exec(line)?.[1] ?? [])
    expect(names.sort()).toEqual(functions.map((name) => `signet_${name}`))
    const all = list
      .trim()
      .split("\n")
      .filter((line) => !line.endsWith(" A SIGNET_1"))
    expect(all).toHaveLength(functions.length)
    const stripped = join(library.folder, "stripped.so")
    execFileSync("strip", ["-o", stripped, join(library.programs, "libsignet.so")])
    expect(statSync(stripped).size).toBeLessThan(maxLibraryBytes)
  })

  // The engine's own code is not instrumented.
  test.each(isNightly ? ["address,undefined", "thread"] : ["address,undefined"])(
    "rejects wrong uses without a finding of the sanitizers %s",
    async (sanitize) => {
      const { folder } = await buildNative(sanitize)
      const options = Buffer.from(optionsBytes(library.optionsFor())).toString("hex")
      expect(execFileSync(join(folder, "misuse"), [options], { encoding: "utf8" })).toBe("")
    },
    900_000,
  )

  test.runIf(isNightly)(
    "handles random bytes for ten minutes without a crash",
    async (context) => {
      if (spawnSync("clang", ["--version"]).error !== undefined)
        context.skip("the fuzz target is not run: clang is missing")
      const { folder } = await buildNative("fuzzer-no-link,address")
      // Its inputs name files below the working folder.
      const cwd = library.newFolder()
      mkdirSync(cwd)
      const run = spawnSync(join(folder, "fuzz"), ["-max_total_time=600"], { cwd, encoding: "utf8" })
      expect([run.status, run.stderr.slice(-2_000)]).toEqual([0, expect.stringMatching(/Done \d{3,} runs/)])
    },
    1_800_000,
  )

  test("installs a header, a library, and files for pkg-config and CMake", () => {
    const prefix = join(library.folder, "prefix")
    execFileSync("cmake", ["--install", library.programs, "--prefix", prefix, "--strip"], { stdio: "ignore" })
    const installed = execFileSync("find", [prefix, "-name", "signet.pc"], { encoding: "utf8" })
      .trim()
      .replace(/\/pkgconfig.*/, "")
    const env = { ...process.env, PKG_CONFIG_PATH: join(installed, "pkgconfig"), LD_LIBRARY_PATH: installed }
    const flags = execFileSync("pkg-config", ["--cflags", "--libs", "signet"], { env, encoding: "utf8" })
      .trim()
      .split(/\s+/)
    const program = join(library.folder, "chat")
    execFileSync("gcc", ["-Wall", "-Werror", join(sources, "examples/chat.c"), ...flags, "-o", program], { env })
    expect(spawnSync(program, { env }).status).toBe(2)
    const project = library.newFolder()
    mkdirSync(project)
    const lines = ["find_package(Signet REQUIRED)", `add_executable(chat ${join(sources, "examples/chat.c")})`]
    const list = [
      "cmake_minimum_required(VERSION 3.18)",
      "project(chat C)",
      ...lines,
      "target_link_libraries(chat signet::signet)",
    ]
    writeFileSync(join(project, "CMakeLists.txt"), list.join("\n"))
    execFileSync("cmake", ["-S", project, "-B", project, `-DCMAKE_PREFIX_PATH=${prefix}`], { stdio: "ignore" })
    execFileSync("cmake", ["--build", project], { stdio: "ignore" })
    expect(spawnSync(join(project, "chat"), { env }).status).toBe(2)
  })
})
