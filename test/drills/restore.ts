// Restore to a point in time: a base backup and archived logs of writes, under eight writers and two messaging clients.
// The database is restored to a moment, and everything after it is lost to the server.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { freePort } from "../support/free-port.ts"
import { type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { findPostgresBinaries } from "../support/postgres-binaries.ts"
import { startProgram } from "../support/program.ts"
import { settings } from "./failover.ts"
import { type Cluster, openCluster, type PostgresNode } from "./postgres-cluster.ts"
import { administer, messengersOf } from "./program-clients.ts"
import { startWriters, tokensBySession, type Writers } from "./writers.ts"

export interface RestoreFigures {
  /** Before the moment to which the database is restored, and after it. */
  readonly acknowledgedBefore: number
  readonly acknowledgedAfter: number
  /** Acknowledged before the moment and missing. */
  readonly lost: number
  /** Later than the moment and there, beyond the one call of each writer that was running. */
  readonly extra: number
  readonly restoreMs: number
  /** From the start of the server to the first acknowledged call. */
  readonly servesAfterMs: number
  /** Sessions whose client had refreshed after the moment: the server does not know their token. */
  readonly signedOut: number
  /** Messages from after the moment, which the clients returned. */
  readonly messagesReturned: number
  readonly auditIsWhole: readonly boolean[]
}

/** The version of the system whose programs are used, because npm packages have no pg_basebackup. */
const version = 15
export const hasBaseBackup = findPostgresBinaries(version) !== undefined

/**
 * @param writes Acknowledged before the base backup, until the moment, and after it.
 * @returns Undefined if there is no PostgreSQL 15.
 */
export async function restoreToMoment(writes: number): Promise<RestoreFigures | undefined> {
  const cluster = await openCluster(version)
  if (cluster === undefined) return undefined
  try {
    return await drill(cluster, writes)
  } finally {
    await cluster.close()
  }
}

async function drill(cluster: Cluster, writes: number): Promise<RestoreFigures> {
  const primary = await startArchiving(cluster)
  const port = await freePort()
  const environment = {
    ...settings(primary.url("signet")),
    ...{ PORT: String(port), SIGNET_DATA: join(cluster.folder, "signet") },
  }
  let program = await startProgram(environment)
  const messengers = messengersOf(program)
  try {
    const [ada, bob] = [await messengers.newcomer("ada"), await messengers.newcomer("bob")]
    const { id } = await ada.messenger.createDirectConversation(bob.person.userId)
    const writers = await startWriters(program.url, 8)
    await writers.more(writes)
    await baseBackup(cluster, primary)
    await writers.more(writes)
    await say(ada, bob, id, "before the moment")
    const moment = await momentOf(primary, writers)
    await writers.more(writes)
    await say(ada, bob, id, "after the moment")
    await say(bob, ada, id, "an answer after the moment")
    await writers.stop()
    await archiveAll(primary)
    await program.end("SIGTERM")
    primary.kill()

    const begunAt = performance.now()
    const restored = await restore(cluster, await freePort(), moment.time)
    const restoreMs = Math.round(performance.now() - begunAt)
    const { db, close } = openPostgres(restored.url("signet"), { maxConnections: 1 })
    const compared = compare(writers, moment.acknowledged, await tokensBySession(db))
    await close()
    const now = { ...environment, DATABASE_URL: restored.url("signet") }
    await administer(now, "revocations", "restart")
    const audits = [await administer(now, "audit", "verify")]
    program = await startProgram(now)
    const startedAt = performance.now()
    const signedOut = await writers.refused()
    const servesAfterMs = Math.round(performance.now() - startedAt)
    for (let round = 0; round < 3; round++) for (const one of [ada, bob]) await one.messenger.sync()
    await say(bob, ada, id, "after the restore")
    const texts = await Promise.all([ada, bob].map((one) => textsIn(one, id)))
    audits.push(await administer(now, "audit", "verify"))
    const after = writers.acknowledged() - moment.acknowledged.reduce((sum, count) => sum + count, 0)
    return {
      acknowledgedBefore: writers.acknowledged() - after,
      acknowledgedAfter: after,
      ...compared,
      ...{ restoreMs, servesAfterMs, signedOut },
      messagesReturned: Math.min(...texts.map((all) => all.filter((text) => /after the moment/.test(text)).length)),
      auditIsWhole: audits.map((audit) => (audit as { isWhole: boolean }).isWhole),
    }
  } finally {
    await messengers.close()
    await program.end("SIGTERM")
  }
}

/** As docs/how-to/run-the-server.md says. */
async function startArchiving(cluster: Cluster): Promise<PostgresNode> {
  const [data, archive] = [join(cluster.folder, "primary"), join(cluster.folder, "archive")]
  await cluster.initialise(data)
  mkdirSync(archive)
  await cluster.own(archive)
  const primary = await cluster.start(data, await freePort(), {
    ...{ wal_level: "replica", archive_mode: "on", archive_timeout: "60s" },
    archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f`,
  })
  await primary.query("create database signet")
  return primary
}

async function baseBackup({ run, binaries, folder }: Cluster, { host, port }: PostgresNode): Promise<void> {
  const connection = ["-h", host, "-p", String(port), "-U", "postgres"]
  await run(join(binaries, "pg_basebackup"), [...connection, "-D", join(folder, "base"), "-c", "fast", "-X", "none"])
}

/** The database's time, and what was acknowledged before it. */
async function momentOf(primary: PostgresNode, { all }: Writers) {
  const acknowledged = all.map((writer) => writer.acknowledged)
  const [row] = await primary.query<{ time: string }>("select clock_timestamp()::text as time")
  return { acknowledged, time: row?.time ?? "" }
}

async function archiveAll(primary: PostgresNode): Promise<void> {
  const [row] = await primary.query<{ file: string }>("select pg_walfile_name(pg_switch_wal()) as file")
  for (;;) {
    const [done] = await primary.query<{ file: string | null }>(
      "select last_archived_wal as file from pg_stat_archiver",
    )
    if ((done?.file ?? "") >= (row?.file ?? "")) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function restore(cluster: Cluster, port: number, time: string): Promise<PostgresNode> {
  const data = join(cluster.folder, "base")
  writeFileSync(join(data, "recovery.signal"), "")
  await cluster.own(data)
  const restored = await cluster.start(data, port, {
    restore_command: `cp ${join(cluster.folder, "archive")}/%f %p`,
    ...{ recovery_target_time: time, recovery_target_action: "promote" },
  })
  for (;;) {
    const [row] = await restored.query<{ recovers: boolean }>("select pg_is_in_recovery() as recovers")
    if (row?.recovers === false) return restored
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Each writer had at most one call without an answer at the moment. */
function compare({ all }: Writers, before: readonly number[], tokens: ReadonlyMap<string, number>) {
  const differences = all.map(({ sessionId }, index) => (tokens.get(sessionId) ?? 0) - 1 - (before[index] ?? 0))
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + Math.max(0, value), 0)
  return { lost: sum(differences.map((one) => -one)), extra: sum(differences.map((one) => one - 1)) }
}

async function say(from: OpenedMessenger, to: OpenedMessenger, id: string, text: string): Promise<void> {
  await from.messenger.send(id, new TextEncoder().encode(text))
  await to.messenger.sync()
}
