// Packages that a test downloads by themselves: too large for every developer's node_modules.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../..")

interface Pinned {
  readonly name: string
  readonly version: string
  /** SHA-512 of the package. */
  readonly integrity: string
}

interface Wheel extends Pinned {
  /** The build tag of its file. */
  readonly build: string
  readonly platform: string
}

/** Downloads a package once, without its dependencies. @returns Its folder. */
export function unpacked({ name, version, integrity }: Pinned): string {
  const file = `${name.replace("@", "").replace("/", "-")}-${version}`
  return join(
    unpackOnce(file, integrity, (fresh) => {
      execFileSync("npm", ["pack", `${name}@${version}`, "--silent", "--pack-destination", fresh], { cwd: fresh })
      return { archive: join(fresh, `${file}.tgz`), unpack: ["tar", "xzf"] }
    }),
    "package",
  )
}

/** Downloads a wheel of PyPI for a platform once. @returns Its folder. */
export function unpackedWheel({ name, version, build, integrity, platform }: Wheel): string {
  const file = `${name}-${version}-${build}-py3-none-${platform}`
  return unpackOnce(file, integrity, (fresh) => {
    const only = ["--no-deps", "--only-binary=:all:", "--platform", platform, "--dest", fresh]
    execFileSync("python3", ["-m", "pip", "download", "--quiet", ...only, `${name}==${version}`])
    return { archive: join(fresh, `${file}.whl`), unpack: ["unzip", "-q"] }
  })
}

/** @param download Returns the archive in a folder, and the command that unpacks it. */
function unpackOnce(
  file: string,
  integrity: string,
  download: (fresh: string) => { readonly archive: string; readonly unpack: readonly string[] },
): string {
  const folder = join(root, "node_modules/.cache/signet", file)
  if (existsSync(folder)) return folder
  const fresh = `${folder}.${process.pid}`
  mkdirSync(fresh, { recursive: true })
  const { archive, unpack } = download(fresh)
  const hash = createHash("sha512").update(readFileSync(archive)).digest("base64")
  if (hash !== integrity) throw new Error(`${file} is not the pinned package: SHA-512 ${hash}`)
  const [command = "", ...args] = unpack
  execFileSync(command, [...args, archive], { cwd: fresh })
  rmSync(archive)
  try {
    renameSync(fresh, folder)
  } catch (error) {
    // Another process was faster.
    rmSync(fresh, { recursive: true })
    if (!existsSync(folder)) throw error
  }
  return folder
}
