// The shared libraries that Node needs, from Debian's packages: apt downloads them for both architectures, whatever
// the building machine's own is. `base.lock.json` fixes their versions and digests.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readNeeds } from "./elf.ts"
import type { Entry } from "./tar.ts"

export type Architecture = "amd64" | "arm64"

export interface LockedPackage {
  readonly name: string
  readonly version: string
  readonly architecture: Architecture
  readonly sha256: string
}

/** What a Debian package brought into the image. */
export interface BasePackage extends LockedPackage {
  readonly files: readonly string[]
}

/** Each package and its licence. gcc-12-base has the copyright file of the two libraries of GCC. */
export const licences: Readonly<Record<string, string>> = {
  libc6: "LGPL-2.1-or-later",
  "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1",
  "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
  "gcc-12-base": "GPL-3.0-or-later WITH GCC-exception-3.1",
}

const lockFile = join(import.meta.dirname, "base.lock.json")

/** Folder of each architecture's libraries, and its dynamic linker's place in libc6. */
const triplets = { amd64: "x86_64-linux-gnu", arm64: "aarch64-linux-gnu" } as const

export const readLock = (): readonly LockedPackage[] => JSON.parse(readFileSync(lockFile, "utf8"))

/** Writes the versions that apt offers now into base.lock.json. */
export function lockBase(cache: string): readonly LockedPackage[] {
  const found = offeredBase(cache)
  writeFileSync(lockFile, `[\n${found.map((one) => `  ${JSON.stringify(one)}`).join(",\n")}\n]\n`)
  return found
}

/** The versions that apt offers now. */
export function offeredBase(cache: string): readonly LockedPackage[] {
  const apt = openApt(cache)
  return (["amd64", "arm64"] as const).flatMap((architecture) =>
    Object.keys(licences).map((name): LockedPackage => {
      const about = apt("show", `${name}:${architecture}`)
      const [, version = ""] = /^Version: (.+)$/m.exec(about) ?? []
      const [, sha256 = ""] = /^SHA256: ([0-9a-f]{64})$/m.exec(about) ?? []
      return { name, version, architecture, sha256 }
    }),
  )
}

/**
 * The downloaded files, by package. They stay in the cache, named after their digests.
 *
 * @throws Error if apt no longer offers a locked version, or a file has another digest.
 */
export function downloadBase(locked: readonly LockedPackage[], cache: string): ReadonlyMap<LockedPackage, string> {
  mkdirSync(cache, { recursive: true })
  const pathOf = ({ sha256 }: LockedPackage) => join(cache, `${sha256}.deb`)
  const missing = locked.filter((one) => !existsSync(pathOf(one)))
  if (missing.length > 0) {
    const folder = mkdtempSync(join(tmpdir(), "signet-debian-"))
    try {
      openApt(cache)("download", ...missing.map((one) => `${one.name}:${one.architecture}=${one.version}`), folder)
      for (const one of missing) {
        const name = readdirSync(folder).find(
          (file) => file.startsWith(`${one.name}_`) && file.endsWith(`_${one.architecture}.deb`),
        )
        const content = name === undefined ? Buffer.alloc(0) : readFileSync(join(folder, name))
        if (createHash("sha256").update(content).digest("hex") !== one.sha256) {
          throw new Error(
            `${one.name} ${one.version} for ${one.architecture} has another digest than base.lock.json says`,
          )
        }
        writeFileSync(pathOf(one), content)
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
  return new Map(locked.map((one) => [one, pathOf(one)]))
}

/** apt with lists of its own for both architectures: the machine's settings do not change. */
function openApt(cache: string): (command: "show" | "download", ...args: string[]) => string {
  const state = join(cache, "apt")
  for (const folder of ["lists/partial", "cache/archives/partial"]) mkdirSync(join(state, folder), { recursive: true })
  const options = [
    ...["APT::Architecture=amd64", "APT::Architectures::=amd64", "APT::Architectures::=arm64"],
    ...[`Dir::State::lists=${state}/lists`, `Dir::Cache=${state}/cache`, "APT::Sandbox::User=root"],
  ].flatMap((option) => ["-o", option])
  const run = (program: string, args: readonly string[], cwd = state) =>
    execFileSync(program, ["-qq", ...options, ...args], { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
  run("apt-get", ["update"])
  return (command, ...args) =>
    command === "show"
      ? run("apt-cache", ["show", "--no-all-versions", ...args])
      : run("apt-get", ["download", ...args.slice(0, -1)], args.at(-1))
}

/**
 * The libraries that a program needs, their own needs included, and the packages' licences.
 *
 * @param debs The downloaded packages of one architecture.
 * @throws Error if no package has a needed library.
 */
export function baseEntries(
  program: Buffer,
  debs: ReadonlyMap<LockedPackage, string>,
  architecture: Architecture,
): { readonly entries: readonly Entry[]; readonly packages: readonly BasePackage[] } {
  const root = mkdtempSync(join(tmpdir(), "signet-base-"))
  try {
    const unpacked = [...debs].map(([locked, file]) => {
      const folder = join(root, locked.name)
      execFileSync("dpkg-deb", ["-x", file, folder])
      return { locked, folder }
    })
    const libraries = new Map<string, { content: Buffer; from: LockedPackage }>()
    const find = (name: string) => {
      for (const { locked, folder } of unpacked) {
        for (const at of [`lib/${triplets[architecture]}`, `usr/lib/${triplets[architecture]}`]) {
          const path = join(folder, at, name)
          if (existsSync(path)) return { content: readFileSync(realpathSync(path)), from: locked }
        }
      }
      throw new Error(`no package has ${name}, which Node needs on ${architecture}`)
    }
    const { interpreter = "", libraries: first } = readNeeds(program)
    const visit = (name: string): void => {
      if (libraries.has(name)) return
      const found = find(name)
      libraries.set(name, found)
      for (const needed of readNeeds(found.content).libraries) visit(needed)
    }
    for (const name of first) visit(name)
    const linker = interpreter.split("/").at(-1) ?? ""
    visit(linker)
    // Links of /lib into /usr/lib are a Debian system's; an image of one program has the linker where the program asks.
    const pathOf = (name: string) => (name === linker ? interpreter.slice(1) : `lib/${triplets[architecture]}/${name}`)
    const entries = [...libraries].map(([name, { content }]): Entry => ({ path: pathOf(name), mode: 0o755, content }))
    const copyrights = unpacked.flatMap(({ locked, folder }): { from: LockedPackage; entry: Entry }[] => {
      const path = join(folder, "usr/share/doc", locked.name, "copyright")
      if (!existsSync(path) || lstatSync(path).isSymbolicLink()) return []
      return [{ from: locked, entry: { path: `usr/share/doc/${locked.name}/copyright`, content: readFileSync(path) } }]
    })
    const packages = unpacked.map(({ locked }) => ({
      ...locked,
      files: [
        ...[...libraries].filter(([, { from }]) => from === locked).map(([name]) => pathOf(name)),
        ...copyrights.filter(({ from }) => from === locked).map(({ entry }) => entry.path),
      ].sort(),
    }))
    return { entries: [...entries, ...copyrights.map(({ entry }) => entry)], packages }
  } finally {
    rmSync(root, { recursive: true })
  }
}
