// Verifies the checkpoints, and that the chains still match them.
import type { Head } from "./chain.ts"
import { type Checkpoint, type CheckpointClaims, inOrder, merkleRoot } from "./checkpoint.ts"
import { type Flaw, flaw, maxFlaws } from "./flaw.ts"
import { hex } from "./row.ts"
import type { VerifiedChains, Verifying } from "./verify-chains.ts"

/** A head of a checkpoint, with the hash of the link that has its position now; null if there is none. */
interface CheckedHead {
  readonly head: Head
  readonly linkHash: Uint8Array | null
}

export interface CheckedCheckpoint {
  readonly checkpoint: Checkpoint
  readonly heads: readonly CheckedHead[]
}

interface Options {
  readonly chains: Pick<VerifiedChains, "ends" | "checkpoints">
  /** Start of each chain whose older links were dropped. */
  readonly starts: ReadonlyMap<string, Head>
  /** Statements that were stored outside the database, by number. */
  readonly kept: ReadonlyMap<bigint, string>
  /** Verifies a statement's signature with the service's keys and returns its claims; undefined if invalid. */
  readonly open: (jws: string) => CheckpointClaims | undefined
}

/** @param checkpoints Sorted by number, each once. */
export async function verifyCheckpoints(
  seals: Verifying,
  checkpoints: AsyncIterable<CheckedCheckpoint>,
  { chains, starts, kept, open }: Options,
): Promise<{ flaws: readonly Flaw[]; checkpoints: number }> {
  const flaws: Flaw[] = []
  const add = (found: Flaw) => {
    if (flaws.length < maxFlaws) flaws.push(found)
  }
  const missing = new Set([...kept.keys(), ...chains.checkpoints.keys()])
  let last: Checkpoint | undefined
  let counted = 0
  for await (const { checkpoint, heads } of checkpoints) {
    counted += 1
    const { number, jws } = checkpoint
    missing.delete(number)
    for (const gap of gapOf(last?.number ?? 0n, number)) missing.add(gap)
    const hash = hex(seals.digest(jws))
    const isIntact =
      isStatement(seals, { checkpoint, heads }, last, open) &&
      (chains.checkpoints.get(number) ?? hash) === hash &&
      (kept.get(number) ?? jws) === jws
    if (!isIntact) add(flaw("CHECKPOINT_CHANGED", { checkpoint: number }))
    else for (const found of judgeHeads(seals, heads, chains.ends, starts)) add({ ...found, checkpoint: number })
    last = checkpoint
  }
  for (const number of [...missing].toSorted((a, b) => (a < b ? -1 : 1))) {
    add(flaw("CHECKPOINT_MISSING", { checkpoint: number }))
  }
  return { flaws, checkpoints: counted }
}

/** The missing numbers in between. Limited, because an attacker who inserts a checkpoint chooses its number. */
function gapOf(before: bigint, number: bigint): readonly bigint[] {
  const between = number - before - 1n
  const length = between < maxFlaws ? Number(between) : maxFlaws
  return Array.from({ length }, (_, i) => before + 1n + BigInt(i))
}

function isStatement(
  seals: Verifying,
  { checkpoint, heads }: CheckedCheckpoint,
  last: Checkpoint | undefined,
  open: Options["open"],
): boolean {
  // A statement without a valid stamp is not parsed.
  const by = seals.stampedBy(checkpoint.jws, checkpoint.stamp)
  if (by === undefined || (by.until !== null && checkpoint.number >= by.until.checkpoint)) return false
  const claims = open(checkpoint.jws)
  if (claims === undefined) return false
  const followsLast = last?.number !== checkpoint.number - 1n || claims.prev === hex(seals.digest(last.jws))
  return (
    BigInt(claims.number) === checkpoint.number &&
    claims.iat === Math.floor(checkpoint.createdAtMs / 1_000) &&
    followsLast &&
    (checkpoint.number > 1n || claims.prev === null) &&
    claims.heads === heads.length &&
    claims.root === hex(merkleRoot(seals, inOrder(heads.map(({ head }) => head))))
  )
}

function* judgeHeads(
  seals: Verifying,
  heads: readonly CheckedHead[],
  ends: ReadonlyMap<string, Head>,
  starts: ReadonlyMap<string, Head>,
): Generator<Flaw> {
  for (const { head, linkHash } of heads) {
    const { shard, seq } = head
    if (seq <= (starts.get(shard)?.seq ?? 0n)) continue
    if (linkHash !== null) {
      if (!seals.equal(linkHash, head.hash)) yield flaw("CHAIN_REWRITTEN", { shard, seq })
    } else yield ends.has(shard) ? flaw("TAIL_CUT", { shard, seq }) : flaw("CHAIN_MISSING", { shard, seq })
  }
}
