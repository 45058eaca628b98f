// The server as one executable file: Node with the server and its packages as an asset (a single executable application
// of Node). It unpacks them once for each version, because Node resolves modules in folders only.
import { execFileSync } from "node:child_process"
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { root } from "../packages/plan.ts"
import { folderEntries, type LockedModule, moduleEntries } from "./production.ts"
import { writeTar } from "./tar.ts"

/** The bytes in Node's program that postject changes, so that Node looks for the blob. */
const sentinelFuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2"

/** A CommonJS module outside of the executable: the executable itself can import built-in modules only. */
const load = `module.exports = (file) => import(require("node:url").pathToFileURL(file).href)\n`

/**
 * The blob of Node's single executable applications, for any platform.
 *
 * @param server The folder of the built `@signet/server`.
 */
export function buildBlob(server: string, modules: readonly LockedModule[], seconds: number): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "signet-blob-"))
  try {
    const entries = [
      ...moduleEntries(modules, "app"),
      ...folderEntries(server, "app/node_modules/@signet/server", (path) => path.endsWith(".map")),
      { path: "load.cjs", content: Buffer.from(load) },
    ]
    writeFileSync(join(folder, "application"), gzipSync(writeTar(entries, seconds)))
    writeFileSync(join(folder, "main.cjs"), readFileSync(join(import.meta.dirname, "executable-main.cjs")))
    const config = {
      // Relative paths: the blob contains them.
      ...{ main: "main.cjs", output: "blob", assets: { application: "application" } },
      ...{ disableExperimentalSEAWarning: true, useSnapshot: false, useCodeCache: false },
    }
    writeFileSync(join(folder, "config.json"), JSON.stringify(config))
    execFileSync(process.execPath, ["--experimental-sea-config", "config.json"], { cwd: folder, stdio: "pipe" })
    return readFileSync(join(folder, "blob"))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** A program of Node with the blob inside. */
export function injectBlob(program: Buffer, blob: Buffer): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "signet-executable-"))
  try {
    const file = join(folder, "signet-server")
    writeFileSync(file, program)
    chmodSync(file, 0o755)
    writeFileSync(join(folder, "blob"), blob)
    const postject = join(root, "node_modules/postject/dist/cli.js")
    const args = [file, "NODE_SEA_BLOB", join(folder, "blob"), "--sentinel-fuse", sentinelFuse]
    // It warns of sections without names, which Node's program has.
    execFileSync(process.execPath, [postject, ...args], { stdio: "pipe" })
    return readFileSync(file)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
