// The main script of the executable file: unpacks the server once into a folder of its digest, and imports it.
const { createHash } = require("node:crypto")
const { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } = require("node:fs")
const { createRequire } = require("node:module")
const { homedir } = require("node:os")
const { join } = require("node:path")
const { getRawAsset } = require("node:sea")
const { gunzipSync } = require("node:zlib")

const block = 512

/** Files and folders of a ustar archive that release/tar.ts wrote. */
function unpack(tar, into) {
  const text = (at, length) => tar.toString("utf8", at, at + length).split("\0")[0]
  for (let at = 0; tar[at] !== 0; ) {
    const [prefix, name] = [text(at + 345, 155), text(at, 100)]
    const path = join(into, prefix, name)
    const size = Number.parseInt(text(at + 124, 12), 8)
    if (name.endsWith("/")) mkdirSync(path, { recursive: true, mode: 0o700 })
    else writeFileSync(path, tar.subarray(at + block, at + block + size), { mode: 0o600 })
    at += block + Math.ceil(size / block) * block
  }
}

const packed = Buffer.from(getRawAsset("application"))
const digest = createHash("sha256").update(packed).digest("hex")
const cache = process.env.SIGNET_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "signet")
const folder = join(cache, digest.slice(0, 32))
if (!existsSync(folder)) {
  const unfinished = `${folder}.${process.pid}`
  mkdirSync(unfinished, { recursive: true, mode: 0o700 })
  unpack(gunzipSync(packed), unfinished)
  try {
    renameSync(unfinished, folder)
  } catch (error) {
    // Another process has unpacked it meanwhile.
    if (!existsSync(folder)) throw error
    rmSync(unfinished, { recursive: true })
  }
}
const program = join(folder, "app/node_modules/@signet/server/bin/signet-server.mjs")
process.argv[1] = program
createRequire(join(folder, "load.cjs"))("./load.cjs")(program)
