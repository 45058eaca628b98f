// Builds the libraries that libsignet for Windows is linked with and that Debian has for no Windows: sources in packages of Rust,
// which carry them unchanged, by mingw's compiler. MSYS2 has all three as packages.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { homedir } from "node:os"
import { basename, join, resolve } from "node:path"

const triplet = "x86_64-w64-mingw32"
/** Debian's packages name the compilers of the POSIX thread model, which std::thread needs. */
export const windowsCompilers = { c: `${triplet}-gcc-posix`, cpp: `${triplet}-g++-posix` }

interface Source {
  readonly name: string
  readonly version: string
  /** SHA-256 of the package. */
  readonly hash: string
  /** The library's name for pkg-config. */
  readonly library: string
  readonly libraryVersion: string
  /** Builds in the package's folder, and installs into the prefix. */
  readonly build: (folder: string, prefix: string) => void
}

const { c } = windowsCompilers

const run = (cwd: string, command: string, ...args: string[]) =>
  execFileSync(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"] })

const sources: readonly Source[] = [
  {
    ...{ name: "libsodium-sys-stable", version: "1.24.3", library: "libsodium", libraryVersion: "1.0.22" },
    hash: "1f55c1c508d31e2cf0a649c9c889e4bcf554cbfb2a6803f049f219784b044283",
    build(folder, prefix) {
      run(folder, "tar", "xzf", "LATEST.tar.gz")
      const inside = join(folder, "libsodium-stable")
      const left = [
        "--disable-shared",
        "--enable-minimal",
        "--disable-ssp",
        "--without-pthreads",
        "--disable-dependency-tracking",
      ]
      run(inside, "./configure", `--host=${triplet}`, `--prefix=${prefix}`, "--quiet", ...left, `CC=${c}`)
      run(inside, "make", "--silent", "-j2", "install")
    },
  },
  {
    ...{ name: "libsqlite3-sys", version: "0.40.0", library: "sqlite3", libraryVersion: "3.54.1" },
    hash: "b06e69070b7e12262b0cd90832f0a7396f142a2b330181255562decf9f0c6215",
    build(folder, prefix) {
      const options = ["THREADSAFE=1", "OMIT_LOAD_EXTENSION", "DQS=0"].map((option) => `-DSQLITE_${option}`)
      compile({
        folder: join(folder, "sqlite3"),
        prefix,
        name: "sqlite3",
        files: ["sqlite3.c"],
        options,
        headers: ["sqlite3.h"],
      })
    },
  },
  {
    ...{ name: "argon2-kdf", version: "1.7.3", library: "libargon2", libraryVersion: "20190702" },
    hash: "98cda2b6a1f5e283cd781c7dfd1e8603b57348503561bb43f2ee44b7eadefe04",
    build(folder, prefix) {
      const files = ["argon2", "core", "encoding", "ref", "thread", "blake2/blake2b"].map((name) => `src/${name}.c`)
      const options = ["-Iinclude", "-DARGON2_NO_THREADS"]
      const headers = ["include/argon2.h"]
      compile({ folder: join(folder, "phc-winner-argon2-20190702"), prefix, name: "argon2", files, options, headers })
    },
  },
]

interface Library {
  readonly folder: string
  readonly prefix: string
  readonly name: string
  readonly files: readonly string[]
  readonly options: readonly string[]
  readonly headers: readonly string[]
}

/** Compiles files to `libNAME.a`, and installs it. */
function compile({ folder, prefix, name, files, options, headers }: Library): void {
  run(folder, c, ...["-O2", "-w", "-ffunction-sections", "-fdata-sections"], ...options, "-c", ...files)
  run(
    folder,
    `${triplet}-ar`,
    "rcs",
    join(prefix, "lib", `lib${name}.a`),
    ...files.map((file) => `${basename(file, ".c")}.o`),
  )
  for (const header of headers) copyFileSync(join(folder, header), join(prefix, "include", basename(header)))
}

/** Downloads a package into cargo's cache. @returns Its file, whose hash is verified. */
function download({ name, version, hash }: Source): string {
  execFileSync("cargo", ["info", "--quiet", `${name}@${version}`], { stdio: ["ignore", "ignore", "inherit"] })
  const cache = join(homedir(), ".cargo/registry/cache")
  const registries = readdirSync(cache).map((registry) => join(cache, registry, `${name}-${version}.crate`))
  const file = registries.find((path) => existsSync(path))
  if (file === undefined) throw new Error(`cargo has not downloaded ${name} ${version}`)
  const found = createHash("sha256").update(readFileSync(file)).digest("hex")
  if (found !== hash) throw new Error(`${name} ${version} has the SHA-256 ${found} and not ${hash}`)
  return file
}

const described = createHash("sha256")
  .update(readFileSync(import.meta.filename))
  .digest("hex")
  .slice(0, 16)
const prefix = resolve(import.meta.dirname, "../../../node_modules/.cache/signet/native", `windows-x64-${described}`)

/** Where pkg-config finds the libraries. */
export const windowsDescriptions = join(prefix, "lib/pkgconfig")

/** Builds the libraries, unless they are in the cache. Takes minutes. */
export function buildWindowsLibraries(): void {
  if (existsSync(prefix)) return
  const fresh = `${prefix}.${process.pid}`
  for (const folder of ["include", "lib/pkgconfig", "sources"]) mkdirSync(join(fresh, folder), { recursive: true })
  for (const source of sources) {
    run(join(fresh, "sources"), "tar", "xzf", download(source))
    source.build(join(fresh, "sources", `${source.name}-${source.version}`), fresh)
    const flags = `Libs: -L\${prefix}/lib -l${source.library.replace(/^lib/, "")}\nCflags: -I\${prefix}/include\n`
    const file = `prefix=\${pcfiledir}/../..\nName: ${source.library}\nDescription: for libsignet\nVersion: ${source.libraryVersion}\n${flags}`
    writeFileSync(join(fresh, "lib/pkgconfig", `${source.library}.pc`), file)
  }
  rmSync(join(fresh, "sources"), { recursive: true })
  renameSync(fresh, prefix)
}
