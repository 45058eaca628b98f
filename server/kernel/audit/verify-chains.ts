// Verifies that no link or event of the chains was changed, removed or reordered.

import type { StampEnd } from "../keys/sealing.ts"
import { type AuditLink, eventHash, type Head, linkHash, origin } from "./chain.ts"
import type { AuditCrypto } from "./crypto.ts"
import { type Flaw, flaw, maxFlaws } from "./flaw.ts"
import { type AuditRow, auditChainOf, stampedText } from "./row.ts"

export type Verifying = Pick<AuditCrypto, "digest" | "stampedBy" | "equal">

/** A link with its event; null if the event does not exist. */
export interface Linked {
  readonly link: AuditLink
  readonly row: AuditRow | null
}

export interface VerifiedChains {
  readonly flaws: readonly Flaw[]
  /** The head of each chain. */
  readonly ends: ReadonlyMap<string, Head>
  readonly links: number
  /** Number of events from before stamps were introduced. Their origin cannot be verified. */
  readonly unstamped: number
  /** Hashes of checkpoints that audit events name, by checkpoint number. */
  readonly checkpoints: ReadonlyMap<bigint, string>
  /** Sealing keys that an audit event names as retired, with the id of that event. */
  readonly retired: ReadonlyMap<string, string>
}

/** Sequence number of each chain's head at a checkpoint, by checkpoint number. */
type EndsAt = ReadonlyMap<bigint, ReadonlyMap<string, bigint>>

interface Options {
  /**
   * Head of each chain at the first checkpoint; every later link needs a stamp. Positions are compared, not times,
   * because an attacker who forges a link chooses its time. Null before the first checkpoint.
   */
  readonly unstampedUntil: ReadonlyMap<string, bigint> | null
  /** Start of each chain whose older links were dropped. */
  readonly starts: ReadonlyMap<string, Head>
  /** Heads at the checkpoints that retired a key: a later link with that key's stamp is invalid. */
  readonly stampEnds: EndsAt
}

/** The first link of a chain that does not follow its predecessor, and that predecessor. */
interface Broken {
  readonly after: Head
  readonly link: AuditLink
}

/** @param links Sorted by shard and sequence number, each once. */
export async function verifyChains(
  seals: Verifying,
  links: AsyncIterable<Linked>,
  { unstampedUntil, starts, stampEnds }: Options,
): Promise<VerifiedChains> {
  const flaws: Flaw[] = []
  const ends = new Map<string, Head>()
  const checkpoints = new Map<bigint, string>()
  const retired = new Map<string, string>()
  let counted = 0
  let unstamped = 0
  let shard: string | undefined
  let broken: Broken | undefined
  let isReordered = false

  const add = (found: Flaw) => {
    if (flaws.length < maxFlaws) flaws.push(found)
  }
  const settle = () => {
    if (broken === undefined) return
    const { link, after } = broken
    const isGap = !isReordered && link.seq !== after.seq + 1n
    add(
      isGap
        ? flaw("LINK_MISSING", { shard: link.shard, seq: after.seq + 1n })
        : flaw(isReordered ? "LINK_REORDERED" : "LINK_CHANGED", { ...link, seq: after.seq + 1n }),
    )
    broken = undefined
    isReordered = false
  }

  for await (const { link, row } of links) {
    counted += 1
    if (link.shard !== shard) {
      settle()
      shard = link.shard
    }
    const after = ends.get(link.shard) ?? starts.get(link.shard) ?? origin(link.shard)
    if (broken !== undefined) {
      isReordered ||= belongsAt(seals, broken, link)
      continue
    }
    if (link.seq !== after.seq + 1n || !seals.equal(linkHash(seals, after, link), link.hash)) {
      broken = { after, link }
      continue
    }
    ends.set(link.shard, { shard: link.shard, seq: link.seq, hash: link.hash })
    if (row?.stamp === null) unstamped += 1
    const what = judgeRow(seals, { link, row }, { unstampedUntil, stampEnds })
    if (what !== undefined) add(flaw(what, link))
    else if (row?.kind === "audit.checkpoint") addCheckpoint(checkpoints, row)
    else if (row?.kind === "sealing_key.retired") retired.set(row.target?.id ?? "", row.id)
  }
  settle()
  return { flaws, ends, links: counted, unstamped, checkpoints, retired }
}

function judgeRow(
  seals: Verifying,
  { link, row }: Linked,
  { unstampedUntil, stampEnds }: Pick<Options, "unstampedUntil" | "stampEnds">,
): Flaw["what"] | undefined {
  if (row === null) return "EVENT_MISSING"
  if (row.id !== link.eventId || !seals.equal(eventHash(seals, row), link.eventHash)) return "EVENT_CHANGED"
  // In another chain, readers of the event's own chain would not notice that it is missing.
  if (auditChainOf(row) !== link.shard) return "LINK_REORDERED"
  if (row.stamp === null) {
    const isOfBefore = unstampedUntil === null || link.seq <= (unstampedUntil.get(link.shard) ?? 0n)
    return isOfBefore ? undefined : "EVENT_UNSTAMPED"
  }
  const isBefore = ({ checkpoint }: StampEnd) => link.seq <= (stampEnds.get(checkpoint)?.get(link.shard) ?? 0n)
  return isStamped(seals, row, isBefore) ? undefined : "EVENT_FORGED"
}

/**
 * True if the service wrote the event.
 *
 * @param isBefore True if the event's position precedes the checkpoint that retired the key. False for an event in no
 * chain.
 */
export function isStamped(
  seals: Pick<AuditCrypto, "stampedBy">,
  row: AuditRow,
  isBefore: (end: StampEnd) => boolean = () => false,
): boolean {
  const by = row.stamp === null ? undefined : seals.stampedBy(stampedText(row), row.stamp)
  return by !== undefined && (by.until === null || isBefore(by.until))
}

/** True if a later link, or its event, belongs at the position where the chain is broken: links were reordered. */
function belongsAt(seals: Verifying, { after, link: first }: Broken, later: AuditLink): boolean {
  const asIs = linkHash(seals, after, later)
  const atItsTime = linkHash(seals, after, { ...later, linkedAtMs: first.linkedAtMs })
  return seals.equal(asIs, later.hash) || seals.equal(asIs, first.hash) || seals.equal(atItsTime, first.hash)
}

function addCheckpoint(checkpoints: Map<bigint, string>, { target }: AuditRow): void {
  const [number = "", hash = ""] = (target?.id ?? "").split(":")
  if (/^\d+$/.test(number)) checkpoints.set(BigInt(number), hash)
}

/** Verifies events that are in no chain yet: each must be recent and stamped by the service. */
export async function verifyWaiting(
  seals: Verifying,
  rows: AsyncIterable<AuditRow>,
  { nowMs, patienceMs, unstampedUntil }: { nowMs: number; patienceMs: number } & Pick<Options, "unstampedUntil">,
): Promise<{ flaws: readonly Flaw[]; waiting: number }> {
  const flaws: Flaw[] = []
  let waiting = 0
  for await (const row of rows) {
    const isOld = row.occurredAtMs <= nowMs - patienceMs
    const what =
      row.stamp !== null && !isStamped(seals, row)
        ? "EVENT_FORGED"
        : row.stamp === null && unstampedUntil !== null
          ? "EVENT_UNSTAMPED"
          : isOld && row.stamp !== null
            ? "EVENT_UNLINKED"
            : undefined
    if (what === undefined) waiting += 1
    else if (flaws.length < maxFlaws) flaws.push(flaw(what, { eventId: row.id }))
  }
  return { flaws, waiting }
}
