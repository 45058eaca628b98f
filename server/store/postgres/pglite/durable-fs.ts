// PGlite's own file system has no fsync and starts PostgreSQL with fsync off (electric-sql/pglite#1107): a crash of the
// process loses nothing, but a power failure may. This file system calls fsync. It reaches into Emscripten's file
// system, so durable-fs.test.ts counts the calls on every new version.
import fs from "node:fs"
import { PGlite } from "@electric-sql/pglite"
import { NodeFS } from "@electric-sql/pglite/nodefs"

/** Start parameters for PGlite on a DurableNodeFs. The WebAssembly build has no fdatasync. */
export const durableStartParams: string[] = [
  ...PGlite.defaultStartParams.filter((param) => param !== "-F"),
  "-c",
  "fsync=on",
  "-c",
  "wal_sync_method=fsync",
]

export class DurableNodeFs extends NodeFS {
  override async init(...given: Parameters<NodeFS["init"]>): ReturnType<NodeFS["init"]> {
    const { emscriptenOpts } = await super.init(...given)
    const install = (module: unknown) => {
      const nodeFs = nodeFsOf(module)
      nodeFs.stream_ops.fsync = (stream) => {
        if (stream.nfd !== undefined) fs.fsyncSync(stream.nfd)
        else syncFolder(nodeFs.realPath(stream.node))
        return 0
      }
    }
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), install] } }
  }
}

/** Syncs a folder, so that its new entries are durable. */
function syncFolder(path: string): void {
  const handle = fs.openSync(path, "r")
  try {
    fs.fsyncSync(handle)
  } finally {
    fs.closeSync(handle)
  }
}

/** The used part of Emscripten's Node file system. */
interface EmscriptenNodeFs {
  realPath(node: unknown): string
  stream_ops: { fsync?: (stream: { nfd?: number; node: unknown }) => number }
}

/** @throws Error when PGlite's internals differ: no database is better than one that loses data. */
function nodeFsOf(module: unknown): EmscriptenNodeFs {
  const nodeFs = (module as { NODEFS?: Partial<EmscriptenNodeFs> }).NODEFS
  if (typeof nodeFs?.realPath !== "function" || typeof nodeFs.stream_ops !== "object") {
    throw new Error("this version of PGlite cannot be made durable")
  }
  return nodeFs as EmscriptenNodeFs
}
