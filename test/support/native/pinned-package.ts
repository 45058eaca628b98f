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

/** Downloads a package once, without its dependencies. @returns Its folder. */
export function unpacked({ name, version, integrity }: Pinned): string {
  const file = `${name.replace("@", "").replace("/", "-")}-${version}`
  const folder = join(root, "node_modules/.cache/signet", file)
  const sources = join(folder, "package")
  if (existsSync(sources)) return sources
  const fresh = `${folder}.${process.pid}`
  mkdirSync(fresh, { recursive: true })
  execFileSync("npm", ["pack", `${name}@${version}`, "--silent", "--pack-destination", fresh], { cwd: fresh })
  const tarball = join(fresh, `${file}.tgz`)
  const hash = createHash("sha512").update(readFileSync(tarball)).digest("base64")
  if (hash !== integrity) throw new Error(`${name}@${version} is not the pinned package: SHA-512 ${hash}`)
  execFileSync("tar", ["xzf", tarball, "-C", fresh])
  rmSync(tarball)
  try {
    renameSync(fresh, folder)
  } catch (error) {
    // Another process was faster.
    rmSync(fresh, { recursive: true })
    if (!existsSync(sources)) throw error
  }
  return sources
}
