// Moves a place: hold, copy, compare, finish, open, release. It can be interrupted and restarted at any step. An abort
// before the source is FINISHed restores the previous state.

import { randomBytes } from "node:crypto"
import { equalBytes } from "@signet/kernel/messaging/bytes"
import { emptyTally, type Tally, tallyOf } from "../../../rpc/transfer/digest.ts"
import type { Backend, StatusSeen } from "./backend.ts"
import { createHeads } from "./heads.ts"

export interface Progress {
  readonly step: "held" | "copying" | "copied" | "compared" | "open" | "released"
  readonly records: number
  readonly conversations: number
}

export interface Moved {
  readonly transferId: string
  readonly records: number
  readonly conversations: number
  readonly counts: Readonly<Record<string, number>>
}

export interface MoveOptions {
  readonly source: Backend
  readonly target: Backend
  readonly onProgress?: (progress: Progress) => void
  /** Called when the target is open and the source still answers reads: switch the clients' address here. */
  readonly onOpen?: () => Promise<void>
}

/** @throws Error with the obstacle. Until the source has FINISHed, `abortMove` can undo everything. */
export async function move({ source, target, onProgress = () => {}, onOpen }: MoveOptions): Promise<Moved> {
  const before = { source: await source.status(), target: await target.status() }
  const transferId = startedTransfer(before.source) ?? new Uint8Array(randomBytes(16))
  const isOpened = before.target.state === "OPEN" && equalBytes(before.target.transferId, transferId)
  const report = (step: Progress["step"], { records, conversations }: Copied) =>
    onProgress({ step, records, conversations })

  if (before.source.state !== "MOVED") await source.change(transferId, "HOLD")
  report("held", begun)
  let copied: Copied = begun
  if (!isOpened) {
    await target.change(transferId, "RECEIVE")
    copied = await copy({ source, target }, transferId, (so) => report("copying", so))
    report("copied", copied)
    compare(copied.tally, await tallyAt(target, transferId))
    report("compared", copied)
  }
  // The source first: once it has FINISHed, it never opens again.
  if (before.source.state !== "MOVED") await source.change(transferId, "FINISH")
  if (!isOpened) await target.change(transferId, "FINISH")
  report("open", copied)
  await onOpen?.()
  await source.change(transferId, "RELEASE")
  report("released", copied)
  const { records, conversations } = copied
  const counts = Object.fromEntries([...copied.tally.counts].map(([kind, count]) => [kind, Number(count)]))
  return { transferId: Buffer.from(transferId).toString("hex"), records, conversations, counts }
}

/** Returns the id of a transfer that was started at the source. */
function startedTransfer({ state, transferId }: StatusSeen): Uint8Array | undefined {
  if (state === "MOVED") return transferId.length > 0 ? transferId : undefined
  return state === "HOLDING" || state === "HELD" || state === "GIVEN" ? transferId : undefined
}

interface Copied {
  readonly records: number
  readonly conversations: number
  readonly tally: Tally
}

const begun: Copied = { records: 0, conversations: 0, tally: emptyTally }

async function copy(
  { source, target }: Pick<MoveOptions, "source" | "target">,
  transferId: Uint8Array,
  report: (so: Copied) => void,
): Promise<Copied> {
  const heads = createHeads()
  let tally = emptyTally
  let records = 0
  // The next page is fetched while this one is stored.
  let next: ReturnType<Backend["page"]> | undefined = source.page(transferId, "", false)
  while (next !== undefined) {
    const page: Awaited<ReturnType<Backend["page"]>> = await next
    next = page.nextCursor === "" ? undefined : source.page(transferId, page.nextCursor, false)
    // Prevents an unhandled rejection; the loop awaits the same promise later.
    next?.catch(() => undefined)
    const own = tallyOf(page.records)
    compare({ sum: page.sum, counts: page.counts }, own)
    heads.see(page.records)
    if (page.records.length > 0) await target.put(transferId, page.records)
    tally = add(tally, own)
    records += page.records.length
    report({ records, conversations: 0, tally })
  }
  return { records, conversations: heads.end(), tally }
}

async function tallyAt(backend: Backend, transferId: Uint8Array): Promise<Tally> {
  let tally = emptyTally
  for (let cursor = "", isFirst = true; isFirst || cursor !== ""; isFirst = false) {
    const page = await backend.page(transferId, cursor, true)
    tally = add(tally, page)
    cursor = page.nextCursor
  }
  return tally
}

function add(a: Tally, b: Tally): Tally {
  const counts = new Map(a.counts)
  for (const [kind, count] of b.counts) counts.set(kind, (counts.get(kind) ?? 0n) + count)
  return { sum: (a.sum + b.sum) % (1n << 256n), counts }
}

/** @throws Error that names the kinds that differ. */
function compare(expected: Tally, found: Tally): void {
  const kinds = [...new Set([...expected.counts.keys(), ...found.counts.keys()])]
  const other = kinds.filter((kind) => expected.counts.get(kind) !== found.counts.get(kind))
  if (other.length > 0) throw new Error(`Target and source have different counts of: ${other.join(", ")}.`)
  if (expected.sum !== found.sum) throw new Error("Target and source have different digests.")
}

/**
 * Undoes an unfinished move: erases the copy at the target and opens the source again.
 *
 * @throws Error if the source has FINISHed, so that the target is or may be open. Then only `move` can continue.
 */
export async function abortMove({ source, target }: Pick<MoveOptions, "source" | "target">): Promise<void> {
  const before = await source.status()
  const transferId = startedTransfer(before)
  if (transferId === undefined || before.state === "MOVED") throw new Error("No transfer is in progress at the source.")
  if (before.state === "GIVEN") {
    throw new Error("The source has FINISHed this transfer and the target may be open: run `messaging move` again.")
  }
  let there = await target.status()
  if (there.state === "OPEN" && equalBytes(there.transferId, transferId)) {
    throw new Error("The target is already open, and two backends cannot serve one scope: run `messaging move` again.")
  }
  if (there.state === "RECEIVING" && equalBytes(there.transferId, transferId)) {
    while (!there.isEmpty) there = await target.change(transferId, "ERASE")
    await target.change(transferId, "ABORT")
  }
  await source.change(transferId, "ABORT")
}

/** Permanently erases a place that was moved away from this backend. */
export async function eraseMoved(backend: Backend): Promise<void> {
  let status = await backend.status()
  if (status.state !== "MOVED") throw new Error("Only a scope that was moved away can be erased.")
  while (!status.isEmpty) status = await backend.change(status.transferId, "ERASE")
}
