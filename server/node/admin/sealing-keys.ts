// `npm run admin -- keys sealing …`: rotates the sealing key while servers run.
import { randomBytes } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { hex } from "@signet/kernel/audit/row"
import { planSealingFinish, planSealingRotation, type SealingKeyRecord } from "@signet/kernel/keys/sealing"
import { createKeyRing } from "../../keys/key-ring.ts"
import type { Facts } from "../../rpc/audit/audit.ts"
import { ownEvent } from "../../rpc/audit/audit.ts"
import { auditLog } from "../../store/postgres/audit/audit.ts"
import { isAnyPending, linkPending } from "../../store/postgres/audit/audit-chain.ts"
import { restampStarts } from "../../store/postgres/audit/audit-drop.ts"
import { createAuditLogDeps } from "../../store/postgres/audit/audit-log-deps.ts"
import { type Pass, resealAll } from "../../store/postgres/keys/reseal.ts"
import {
  listHolders,
  listSealingKeys,
  listTransactions,
  lockHolders,
  markResealed,
  retireSealingKey,
  startSealingRotation,
} from "../../store/postgres/keys/sealing-keys.ts"
import { createSigningKeys } from "../../store/postgres/keys/signing-keys.ts"
import { migrate } from "../../store/postgres/migrate.ts"
import type { Database } from "../../store/postgres/sql.ts"
import { checkpointWhenDue } from "../audit-chainer.ts"
import type { Config } from "../config.ts"
import { openDatabase } from "../open-database.ts"
import { adoptFirstKey, type OpenSecrets, openSecrets } from "../open-secrets.ts"
import { type Command, type CommandOutput, UsageError } from "./command.ts"
import { keysUsage } from "./keys.ts"

const verbs = { list, rotate, finish }
const clock = { nowMs: () => Date.now() }
const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) }

export const sealingKeys: Command = async ([verb = "", ...rest], config) => {
  const command = Object.hasOwn(verbs, verb) ? verbs[verb as keyof typeof verbs] : undefined
  if (command === undefined || rest.length > 0) throw new UsageError(keysUsage)
  const database = await openDatabase(config, () => undefined)
  try {
    await migrate(database.db)
    const opened = await openSecrets(database.db, config)
    return await command({ db: database.db, opened, config })
  } finally {
    await database.close()
  }
}

interface At {
  readonly db: Database
  readonly opened: OpenSecrets
  readonly config: Config
}

/** Read-only. */
async function list({ db, opened }: At): Promise<CommandOutput> {
  const pass = await readAll(db, opened)
  const keys = (await listSealingKeys(db)).map(({ id, status, createdAtMs, resealedAtMs }) => ({
    ...{ id, status, createdAt: new Date(createdAtMs).toISOString() },
    isResealed: resealedAtMs !== null,
  }))
  const servers = await listHolders(db)
  const values = { values: pass.seen, underAnotherKey: pass.resealed, unopened: Object.fromEntries(pass.unopened) }
  const lines = keys.map(({ id, status, createdAt }) => `${id} ${status} since ${createdAt}`)
  const counts = `${pass.seen} sealed values, ${pass.resealed} under other keys than the active one; ${servers.length} servers.`
  return { text: [...lines, counts].join("\n"), json: { keys, servers: servers.length, ...values } }
}

async function rotate({ db, opened }: At): Promise<CommandOutput> {
  const { sealing, seals } = opened
  const [key = "", next] = sealing.heldIds
  // Before writing anything, check that every sealed value opens.
  requireOpened(await readAll(db, opened))
  await adoptFirstKey(db, opened, clock.nowMs())
  const { from, to } = await db
    .transaction()
    .setIsolationLevel("read committed")
    .execute(async (trx) => {
      await lockHolders(trx)
      const plan = planSealingRotation(await listSealingKeys(trx), { key, next }, await listHolders(trx))
      if (plan.is === "refuse") throw new Error(plan.why)
      if (plan.is === "begin") {
        const stampSealed = sealing.sealStampKey({ id: plan.from, to: plan.to, status: "PREVIOUS", until: null })
        await startSealingRotation(trx, { ...plan, stampSealed, nowMs: clock.nowMs() })
        sealing.follow(await listSealingKeys(trx))
        await write(trx, seals, { kind: "sealing_key.rotated", target: { type: "sealing_key", id: plan.to } })
      }
      return plan
    })
  await everyServerSealsWith(db, to)
  await openTransactionsEnd(db)
  let resealed = 0
  for (let pass = await resealAll(db, (of, sealed) => sealing.reseal(of.scheme, of.label, sealed)); ; ) {
    requireOpened(pass)
    resealed += pass.resealed
    if (pass.resealed === 0) break
    // Repeat for values that a server with the old key wrote meanwhile.
    pass = await resealAll(db, (of, sealed) => sealing.reseal(of.scheme, of.label, sealed))
  }
  await markResealed(db, from, clock.nowMs())
  const text = `Sealed ${resealed} values under ${to}. Restart the servers with it alone as SIGNET_SEALING_KEY, then say \`keys sealing finish\`.`
  return { text, json: { from, to, resealed } }
}

async function finish({ db, opened, config }: At): Promise<CommandOutput> {
  const { sealing, secrets, seals } = opened
  const planned = async (on: Database) => {
    const plan = planSealingFinish(await listSealingKeys(on), sealing.heldIds, await listHolders(on))
    if (plan.is === "refuse") throw new Error(plan.why)
    return plan
  }
  const { from } = await planned(db)
  requireOpened(await readAll(db, opened))
  // Events that the previous key stamped must be linked before the checkpoint that retires the key.
  while (await isAnyPending(db)) await linkPending(db, seals, clock.nowMs)
  const keys = createKeyRing({ signingKeys: createSigningKeys(db), secrets, clock })
  await keys.start()
  const writing = createAuditLogDeps(seals)
  const options = { db, writing, keys, clock, random, issuer: config.issuer, everySeconds: 0 }
  const made = await checkpointWhenDue(options)()
  if (made === undefined)
    throw new Error("Could not create an audit checkpoint, because events without a stamp are pending: try again.")
  const until = { checkpoint: made.number, hash: hex(seals.digest(made.jws)) }
  await db
    .transaction()
    .setIsolationLevel("read committed")
    .execute(async (trx) => {
      await lockHolders(trx)
      await planned(trx)
      await restampStarts(trx, seals)
      await retireSealingKey(
        trx,
        from,
        sealing.sealStampKey({ id: from, to: sealing.sealsWith(), status: "RETIRED", until }),
      )
      await write(trx, seals, { kind: "sealing_key.retired", target: { type: "sealing_key", id: from } })
    })
  const text = `The sealing key ${from} is retired. Its audit stamps are valid up to checkpoint ${made.number}.`
  return { text, json: { retired: from, checkpoint: String(made.number) } }
}

const readAll = (db: Database, { sealing }: OpenSecrets): Promise<Pass> =>
  resealAll(db, (of, sealed) => sealing.reseal(of.scheme, of.label, sealed), { isDry: true })

/** @throws Error that names the columns but no values. */
function requireOpened({ unopened }: Pass): void {
  if (unopened.size === 0) return
  const where = [...unopened].map(([name, count]) => `${name} (${count})`).join(", ")
  throw new Error(`No sealing key of the settings opens these values: ${where}.`)
}

/** Waits for all servers. They follow at their next tick; one that is not seen for a minute has stopped. */
async function everyServerSealsWith(db: Database, id: SealingKeyRecord["id"]): Promise<void> {
  while ((await listHolders(db)).some(({ sealsWith }) => sealsWith !== id)) await sleep(500)
}

/**
 * Waits for open transactions: they may have sealed under the previous key, and their rows are not visible before they
 * commit.
 */
async function openTransactionsEnd(db: Database): Promise<void> {
  const open = await listTransactions(db)
  while ((await listTransactions(db)).some((id) => open.includes(id))) await sleep(100)
}

async function write(trx: Database, seals: OpenSecrets["seals"], facts: Facts): Promise<void> {
  const log = auditLog(trx, createAuditLogDeps(seals))
  await log.append(ownEvent({ random }, clock.nowMs(), facts, "admin keys sealing"))
  await log.flush()
}
