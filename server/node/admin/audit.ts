// npm run admin -- audit …: verifies the audit log, exports checkpoints, and deletes old events.
import { randomBytes } from "node:crypto"
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import type { Flaw } from "@signet/kernel/audit/flaw"
import { openCheckpoint } from "../../keys/statement.ts"
import { ownEvent } from "../../rpc/audit/audit.ts"
import { dropUntil } from "../../store/postgres/audit/audit-drop.ts"
import { auditExports } from "../../store/postgres/audit/audit-export.ts"
import { createAuditLogDeps } from "../../store/postgres/audit/audit-log-deps.ts"
import { type VerifiedAudit, verifyAudit } from "../../store/postgres/audit/audit-verify.ts"
import { createSigningKeys } from "../../store/postgres/keys/signing-keys.ts"
import type { Database } from "../../store/postgres/sql.ts"
import type { Config } from "../config.ts"
import { openDatabase } from "../open-database.ts"
import { openSecrets } from "../open-secrets.ts"
import { type Command, CommandFailed, type CommandOutput, UsageError } from "./command.ts"

/** An event that is unlinked for longer is reported. */
const patienceMs = 60_000
/** Exit code of `audit verify` if it finds flaws. */
const flawedCode = 3

export const auditUsage = `audit verify [--checkpoints FILE]
    Verifies the whole audit and lists its flaws in order. FILE has checkpoints that were kept elsewhere. The exit code
    is 0 for a complete audit, ${flawedCode} for flaws, and 1 if the audit could not be read.
audit checkpoints --out FILE
    Appends new checkpoints to FILE. Keep it where the database's owner cannot write.
audit drop --before 2026-01-31
    Deletes the events that checkpoints from before that day cover. The rest can still be verified. Requires the tables'
    owner.`

export const audit: Command = async ([what = "", ...args], config) => {
  const name = { verify: "checkpoints", checkpoints: "out", drop: "before" }[what]
  if (name === undefined) throw new UsageError(auditUsage)
  const value = optionOf(args, name)
  if (what !== "verify" && value === undefined) throw new UsageError(auditUsage)
  const database = await openDatabase(config, () => undefined)
  try {
    if (value === undefined || what === "verify") return await verify(database.db, config, value)
    return what === "drop" ? await drop(database.db, config, value) : await keepCheckpoints(database.db, value)
  } finally {
    await database.close()
  }
}

async function verify(db: Database, config: Config, file: string | undefined): Promise<CommandOutput> {
  const { seals } = await openSecrets(db, config)
  const keys = (await createSigningKeys(db).list()).filter(({ purpose }) => purpose === "STATEMENT")
  const publicKeys = keys.map(({ publicJwk }) => publicJwk)
  const verified = await verifyAudit(db, {
    seals,
    nowMs: Date.now(),
    patienceMs,
    open: (jws) => openCheckpoint(jws, publicKeys),
    kept: file === undefined ? new Map() : readKept(file),
  })
  const { flaws, ...counts } = verified
  const json = { isWhole: flaws.length === 0, flaws: flaws.map(sentenceOf), ...counts }
  if (json.isWhole) return { text: `The audit log is complete and unchanged: ${countsOf(verified)}.`, json }
  throw new CommandFailed({ text: [...json.flaws, `Of ${countsOf(verified)}.`].join("\n"), json }, flawedCode)
}

async function drop(db: Database, config: Config, before: string): Promise<CommandOutput> {
  const nowMs = Date.now()
  const untilMs = /^\d{4}-\d{2}-\d{2}$/.test(before) ? Date.parse(before) : Number.NaN
  if (!(untilMs < nowMs)) throw new UsageError(auditUsage)
  const { seals } = await openSecrets(db, config)
  const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) }
  const facts = { kind: "audit.dropped", target: { type: "audit_before", id: before } } as const
  const event = ownEvent({ random }, nowMs, facts, "admin audit drop")
  const writing = createAuditLogDeps(seals)
  const dropped = await dropUntil(db, writing, { untilMs, nowMs, event })
  return { text: `Dropped ${dropped.events} events of ${dropped.chains} chains.`, json: dropped }
}

/** Formats a flaw with its position: `LINK_MISSING chain=ten_… seq=5`. */
export function sentenceOf({ what, shard, seq, eventId, checkpoint }: Flaw): string {
  const at = { chain: shard, seq, event: eventId, checkpoint }
  const parts = Object.entries(at).flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]))
  return [what, ...parts].join(" ")
}

function countsOf({ chains, links, checkpoints, waiting, unstamped }: VerifiedAudit): string {
  const counts = [`${links} events in ${chains} chains`, `${checkpoints} checkpoints`, `${waiting} events waiting`]
  if (unstamped > 0) counts.push(`${unstamped} events from before stamps existed`)
  return counts.join(", ")
}

async function keepCheckpoints(db: Database, file: string): Promise<CommandOutput> {
  const kept = existsSync(file) ? readKept(file) : new Map<bigint, string>()
  let last = [...kept.keys()].reduce((most, number) => (number > most ? number : most), 0n)
  let added = 0
  for (;;) {
    const page = await auditExports(db).checkpoints(last, 100)
    for (const { checkpoint } of page) {
      appendFileSync(file, `${JSON.stringify({ number: String(checkpoint.number), jws: checkpoint.jws })}\n`)
      last = checkpoint.number
      added += 1
    }
    if (page.length > 0) continue
    const holds = kept.size + added
    return { text: `Added ${added} checkpoints; ${file} holds ${holds}.`, json: { added, holds } }
  }
}

/** @throws Error if a line is not a checkpoint. */
function readKept(file: string): Map<bigint, string> {
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean)
  return new Map(lines.map((line) => parseKept(line, file)))
}

function parseKept(line: string, file: string): [bigint, string] {
  const json: unknown = JSON.parse(line)
  const isKept = typeof json === "object" && json !== null && "number" in json && "jws" in json
  if (!isKept || !/^\d{1,18}$/.test(String(json.number)) || typeof json.jws !== "string") {
    throw new Error(`${file} has a line that is not a checkpoint`)
  }
  return [BigInt(String(json.number)), json.jws]
}

function optionOf(args: readonly string[], name: string): string | undefined {
  try {
    const { values } = parseArgs({ args: [...args], options: { [name]: { type: "string" } }, strict: true })
    return values[name] === undefined ? undefined : String(values[name])
  } catch {
    throw new UsageError(auditUsage)
  }
}
