import { randomBytes } from "node:crypto"
import { join } from "node:path"
import type { Lock } from "@signet/client"
import { MessagingError, type MessagingStore, type Op, type Space, type Transacted } from "@signet/client/messaging"
import { createFileLock } from "../file-lock.ts"
import {
  chainAfter,
  decodeFile,
  encodeFile,
  isWithin,
  type Left,
  type LeftRow,
  merged,
  nameOf,
  type Span,
  spanOf,
} from "./folder-file.ts"
import { codeOf, type FolderFiles, folderFiles } from "./folder-files.ts"
import { type FolderRows, folderRows } from "./folder-rows.ts"

/** A lock holder that has been silent for so long has stopped; its later writes fail, because their names exist. */
const staleMs = 10_000
const waitMs = 30_000
/** The number of single-transaction files before a merge. */
const mergeAt = 64

/**
 * A messaging store in a folder of plain files, which any number of processes of its user may share.
 *
 * Each transaction is a file with a number and a checksum: written under a temporary name, synced, and then linked to
 * its name, which succeeds for one writer only. The lock reduces conflicts; correctness depends only on the names, so a
 * holder that stops or resumes late is harmless. Files are merged from time to time. All rows are in memory: suitable
 * for some tens of megabytes; use SQLite for more.
 *
 * @param path A folder for this store alone, on a local file system with hard links; created if missing.
 * @throws MessagingError STATE_NEWER_VERSION; STATE_TAMPERED for a damaged or missing file. Nothing is changed then.
 */
export async function openFolderStore(path: string): Promise<MessagingStore> {
  const files = folderFiles(path)
  await files.make()
  return openFolderStoreOn(files, createFileLock(join(path, "lock"), { staleMs, waitMs }), { mergeAt })
}

export async function openFolderStoreOn(
  files: FolderFiles,
  lock: Lock,
  options: { readonly mergeAt: number },
): Promise<MessagingStore> {
  let rows = folderRows()
  /** The newest transaction in memory. */
  let reached = 0
  let reading: Promise<unknown> = Promise.resolve()
  let writing: Promise<unknown> = Promise.resolve()

  /** Reads the transactions since, of this process and of others. */
  async function readOn(): Promise<void> {
    for (;;) {
      const spans = await listSpans(files)
      const chain = chainAfter(reached, spans)
      const newest = spans.reduce((highest, { to }) => Math.max(highest, to), 0)
      if (chain.length === 0 && newest <= reached) return
      if ((chain.at(-1)?.to ?? 0) < newest && !(await isBeingMerged(spans))) {
        throw new MessagingError("STATE_TAMPERED", "a file of this store is missing: nothing was changed")
      }
      if (await takeAll(chain)) return
    }
  }

  /** True if the files have changed meanwhile: a missing transaction may be in a merged file. */
  async function isBeingMerged(spans: readonly Span[]): Promise<boolean> {
    const namesOf = (all: readonly Span[]) => all.map(nameOf).sort().join()
    return namesOf(await listSpans(files)) !== namesOf(spans)
  }

  /** @returns False if one of the files was merged meanwhile. */
  async function takeAll(chain: readonly Span[]): Promise<boolean> {
    for (const span of chain) {
      const bytes = await files.read(nameOf(span))
      if (bytes === undefined) return false
      const left = decodeFile(span, bytes)
      // The first file does not list rows that were deleted before its end.
      if (span.from === 1) rows = folderRows()
      rows.apply(left)
      reached = span.to
    }
    return true
  }

  /** Reads in turn, each read starting after its call, so that it sees all earlier writes. */
  function refresh(): Promise<FolderRows> {
    const turn = reading.then(readOn, readOn).then(() => rows)
    reading = turn.catch(() => undefined)
    return turn
  }

  async function write(space: Space, expected: bigint, ops: readonly Op[]): Promise<Transacted> {
    for (;;) {
      const now = await refresh()
      if (now.generationOf(space) !== expected) return "GENERATION_MISMATCH"
      const left = leftBy(now, space, expected + 1n, ops)
      if (left === undefined) return "EXISTS"
      const number = reached + 1
      if (await put({ from: number, to: number }, left)) return "ok"
    }
  }

  /** @returns False if another writer has used this number. */
  async function put(span: Span, left: Left): Promise<boolean> {
    if (!(await place(files, span, left))) return false
    // The name was free only because its file had been merged: this write is too late.
    if ((await listSpans(files)).some((other) => isWithin(span, other))) {
      throw new Error("the store was merged during the write: read the store to learn whether it was written")
    }
    return true
  }

  /** Merges files. A failure does not affect the write; a later call repeats it. */
  async function tidy(): Promise<void> {
    const chain = chainAfter(0, await listSpans(files))
    if (chain.filter(({ from, to }) => from === to).length < options.mergeAt) return
    await mergeNewest(files, chain)
  }

  await refresh()
  return {
    durability: "persistent",
    async read(space, wanted) {
      const now = await refresh()
      const values = wanted.map(({ table, key }) => now.get(space, table, key)?.slice())
      return { generation: now.generationOf(space), values }
    },
    async list(space, table, { after = "", limit = Number.POSITIVE_INFINITY } = {}) {
      const found = (await refresh()).list(space, table, after, limit)
      return found.map(({ key, value }) => ({ key, value: value.slice() }))
    },
    spaces: async () => (await refresh()).spaces(),
    transact(space, expectedGeneration, ops) {
      const start = () =>
        lock.run(async () => {
          const done = await write(space, expectedGeneration, ops)
          if (done === "ok") await tidy().catch(() => undefined)
          return done
        })
      const turn = writing.then(start, start).catch(refusal)
      writing = turn.catch(() => undefined)
      return turn
    },
    async close() {
      await writing
    },
  }
}

/** @returns Undefined if a row to create exists. */
function leftBy(rows: FolderRows, space: Space, generation: bigint, ops: readonly Op[]): Left | undefined {
  const left = new Map<string, LeftRow>()
  for (const op of ops) {
    const { space: at = space, table, key } = op
    const name = JSON.stringify([at, table, key])
    const before = left.has(name) ? left.get(name)?.value : rows.get(at, table, key)
    if (op.op === "create" && before !== undefined) return undefined
    left.set(name, { space: at, table, key, value: op.op === "remove" ? undefined : op.value })
  }
  return { generations: new Map([[space, generation]]), rows: [...left.values()] }
}

async function listSpans(files: FolderFiles): Promise<Span[]> {
  return (await files.list()).map(spanOf).filter((span) => span !== undefined)
}

/** @returns False if the name exists. */
async function place(files: FolderFiles, span: Span, left: Left): Promise<boolean> {
  const bytes = encodeFile(span, left)
  for (let tries = 1; ; tries++) {
    const isFirst = await placeOnce(files, nameOf(span), bytes).catch((error: unknown) => {
      if (codeOf(error) !== "ENOENT" || tries === maxTries) throw error
      return "swept" as const
    })
    if (isFirst === "swept") continue
    await files.sync()
    return isFirst
  }
}

/** The most attempts after another process's merge deleted the file as a leftover. */
const maxTries = 8

async function placeOnce(files: FolderFiles, name: string, bytes: Uint8Array): Promise<boolean> {
  const fresh = `${randomBytes(12).toString("hex")}.new`
  try {
    await files.write(fresh, bytes)
    return await files.name(fresh, name)
  } finally {
    await files.remove(fresh).catch(() => undefined)
  }
}

/**
 * Merges the newest files with the earlier ones that are not much larger, so that each row is rewritten only a few
 * times, however large the store becomes. Merged files are deleted after the new file is synced.
 */
async function mergeNewest(files: FolderFiles, chain: readonly Span[]): Promise<void> {
  const taken: { span: Span; left: Left }[] = []
  let bytes = 0
  for (const span of chain.toReversed()) {
    const file = await files.read(nameOf(span))
    if (file === undefined) return
    const isMerged = span.from !== span.to
    if (isMerged && file.length > 2 * bytes) break
    bytes += file.length
    taken.unshift({ span, left: decodeFile(span, file) })
  }
  const [first] = taken
  const last = chain.at(-1)
  if (first === undefined || last === undefined) return
  const whole = { from: first.span.from, to: last.to }
  await place(
    files,
    whole,
    merged(
      taken.map(({ left }) => left),
      whole.from > 1,
    ),
  )
  for (const name of await files.list()) {
    const span = spanOf(name)
    const isLeftover = name.endsWith(".new") || (span !== undefined && isWithin(span, whole))
    if (isLeftover) await files.remove(name)
  }
}

function refusal(cause: unknown): never {
  const code = codeOf(cause)
  if (code !== "ENOSPC" && code !== "EDQUOT") throw cause
  throw new MessagingError("STORE_FULL", "the disk is full", { cause })
}
