// Deletes expired messaging records in small batches.
import { retried } from "../retry.ts"
import { at, type Database, run } from "../sql.ts"
import { type Access, createAccess } from "./access.ts"
import { log } from "./log.ts"
import { isClosedOf, isClosedOfDevice } from "./moving/gates.ts"

const batch = 1_000
/** Batches of each kind in one sweep; the next sweep continues. */
const mostBatches = 50
/** How long a repeated claim gets the same answer. Its ticket is valid for a day. */
const claimMs = 14 * 86_400_000
const hour = 3_600_000

interface SweptMessaging {
  readonly nonces: number
  readonly claims: number
  readonly keyPackages: number
  readonly welcomes: number
  readonly trees: number
  readonly envelopes: number
}

const deleteNonces = `delete from proof_nonce where (device_id, nonce) in (
  select device_id, nonce from proof_nonce where expires_at <= $1
  order by expires_at limit ${batch} for update skip locked) returning 1`
// Skips places that are being moved: their records must not change.
const deleteClaims = `delete from claim where (requester_device_id, id) in (
  select requester_device_id, id from claim where claimed_at <= $1 and not ${isClosedOf("claim.conversation_id")} order by claimed_at limit ${batch} for update skip locked) returning 1`
// Init keys are kept permanently.
const deleteKeyPackages = `delete from key_package where ref in (
  select ref from key_package where not_after <= $1 and not ${isClosedOfDevice("key_package.device_id")}
    and not exists (select 1 from claim_package where claim_package.ref = key_package.ref)
  order by not_after limit ${batch} for update skip locked) returning 1`
const deleteWelcomes = `delete from welcome where id in (
  select id from welcome where expires_at <= $1 and not ${isClosedOf("welcome.conversation_id")} order by expires_at limit ${batch} for update skip locked)
returning conversation_id, commit_seq`
const deleteWelcomeCommits = `delete from welcome_commit common
where (conversation_id, commit_seq) in (select * from unnest($1::text[], $2::bigint[])) and not exists (
  select 1 from welcome where welcome.conversation_id = common.conversation_id
    and welcome.commit_seq = common.commit_seq)`
const findTrees = `select conversation_id, hash from tree
where check_at <= $1 and not ${isClosedOf("tree.conversation_id")}
order by check_at limit ${batch} for update skip locked`
const deleteTree = `delete from tree where conversation_id = $1 and hash = $2 and not exists (
  select 1 from welcome_commit common join welcome
    on welcome.conversation_id = common.conversation_id and welcome.commit_seq = common.commit_seq
  where common.conversation_id = $1 and common.tree_hash = $2 and welcome.status = 'PENDING') returning 1`
const keepTree = "update tree set check_at = $3 where conversation_id = $1 and hash = $2"

/**
 * Deletes expired records. Several processes may sweep at once; one sweep a minute is enough.
 *
 * @param nowMs Milliseconds since the Unix epoch.
 */
export async function sweepMessaging(db: Database, nowMs: number): Promise<SweptMessaging> {
  const access = createAccess(db, { audit: null })
  const rows = (text: string, until: number) => () => retried(async () => (await run(db, text, [at(until)])).length)
  return {
    nonces: await inBatches(rows(deleteNonces, nowMs)),
    claims: await inBatches(rows(deleteClaims, nowMs - claimMs)),
    keyPackages: await inBatches(rows(deleteKeyPackages, nowMs)),
    welcomes: await inBatches(() => sweepWelcomes(access, nowMs)),
    trees: await inBatches(() => sweepTrees(access, nowMs)),
    envelopes: await log(access).prune(nowMs, batch),
  }
}

function sweepWelcomes({ transact }: Access, nowMs: number): Promise<number> {
  return transact(async (trx) => {
    type Row = { conversation_id: string; commit_seq: number }
    const gone = await run<Row>(trx, deleteWelcomes, [at(nowMs)])
    const commits = [gone.map((row) => row.conversation_id), gone.map((row) => row.commit_seq)]
    if (gone.length > 0) await run(trx, deleteWelcomeCommits, commits)
    return gone.length
  })
}

/** Deletes unused trees. A tree of a pending welcome is checked again in an hour. */
function sweepTrees({ transact }: Access, nowMs: number): Promise<number> {
  return transact(async (trx) => {
    const found = await run<{ conversation_id: string; hash: Uint8Array }>(trx, findTrees, [at(nowMs)])
    for (const { conversation_id, hash } of found) {
      const deleted = await run(trx, deleteTree, [conversation_id, hash])
      if (deleted.length === 0) await run(trx, keepTree, [conversation_id, hash, at(nowMs + hour)])
    }
    return found.length
  })
}

async function inBatches(sweepOne: () => Promise<number>): Promise<number> {
  let all = 0
  for (let i = 0; i < mostBatches; i++) {
    const count = await sweepOne()
    all += count
    if (count < batch) break
  }
  return all
}
