// libsignet's sources compile for macOS, with the C headers of that system and a fake of its frameworks. Nothing runs there.
import { execFile, execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { buildNative, whyNoLibrary } from "../support/native/library.ts"

const sources = join(import.meta.dirname, "../../clients/native/c")
/** Zig's C compiler is clang, with the headers of macOS. */
const zig = process.env.SIGNET_ZIG
const why =
  whyNoLibrary ??
  (zig ? undefined : "libsignet is not compiled for macOS: SIGNET_ZIG does not name the program of ziglang")

test.skipIf(!isLong || why !== undefined)(
  why ?? "libsignet compiles for macOS",
  async () => {
    const { folder } = await buildNative()
    const engine = /^SIGNET_ENGINE:PATH=(.*)$/m.exec(readFileSync(join(folder, "CMakeCache.txt"), "utf8"))?.[1] ?? ""
    const scratch = mkdtempSync(join(fastTmpdir(), "signet-macos-"))
    // Headers of the libraries, without those of Linux beside them.
    const common = "/usr/include"
    const own = join(common, execFileSync("gcc", ["-print-multiarch"], { encoding: "utf8" }).trim())
    const [first, second] = [join(scratch, "first"), join(scratch, "second")]
    for (const into of [first, second]) mkdirSync(into)
    for (const name of ["openssl", "sqlite3.h", "argon2.h"]) symlinkSync(join(common, name), join(first, name))
    for (const name of ["openssl", "curl"]) symlinkSync(join(own, name), join(second, name))
    const includes = [".", "engine", engine, "test/apple"].flatMap((path) => ["-I", path])
    const flags = [...["-target", "aarch64-macos", "-O0"], ...includes]
    const libraries = ["-isystem", first, "-isystem", second, `-DSIGNET_CORE="${join(folder, "../core.bc")}"`]
    const files = ["engine", "host"].flatMap((path) =>
      readdirSync(join(sources, path)).map((name) => `${path}/${name}`),
    )
    for (const file of files.filter((name) => /\.c(pp)?$/.test(name))) {
      const language = file.endsWith(".c") ? ["cc", "-std=gnu11"] : ["c++", "-std=c++17"]
      const args = [...language, ...flags, ...libraries, "-c", file, "-o", join(scratch, "out.o")]
      const errors = await promisify(execFile)(zig ?? "", args, { cwd: sources }).then(
        () => "",
        (error: Error) => error.message,
      )
      expect([file, errors]).toEqual([file, ""])
    }
    rmSync(scratch, { recursive: true })
  },
  1_800_000,
)
