// `npm run admin -- keys tokens …`: rotates or revokes the keys of tokens and statements ahead of schedule.

import { parseArgs } from "node:util"
import { keyPurposes } from "@signet/kernel/keys/purposes"
import { createKeyRing, type KeyChange, type RunningKeyRing } from "../../keys/key-ring.ts"
import { createSigningKeys } from "../../store/postgres/keys/signing-keys.ts"
import type { Config } from "../config.ts"
import { auditKeyChanges } from "../key-changes.ts"
import { openDatabase } from "../open-database.ts"
import { type Command, type CommandOutput, UsageError } from "./command.ts"
import { keysUsage } from "./keys.ts"
import { withAccountStore } from "./open-account-store.ts"

type Work = (ring: RunningKeyRing) => Promise<readonly KeyChange[]>

export const tokenKeys: Command = (args, config) => {
  const { verb, what, isEarly } = parse(args)
  switch (verb) {
    case "rotate": {
      const purpose = keyPurposes.find((one) => one === what)
      if (purpose === undefined) throw new UsageError(keysUsage)
      return change(config, async (ring) => {
        const changes = await ring.rotate(purpose, { isEarly })
        if (changes.some((one) => one.purpose === purpose && one.status === "CURRENT")) return changes
        throw new Error(
          "The next key was published less than 24 hours ago, or four keys are published: use --early to activate it now.",
        )
      })
    }
    case "compromise":
      if (isEarly) throw new UsageError(keysUsage)
      return change(config, async (ring) => {
        const changes = await ring.compromise(what)
        if (changes.length > 0) return changes
        throw new Error("The key does not exist, or was retired before.")
      })
    case "list":
      if (what !== "" || isEarly) throw new UsageError(keysUsage)
      return list(config)
    default:
      throw new UsageError(keysUsage)
  }
}

/** Lists every key ever stored, oldest first, without private halves. Read-only. */
async function list(config: Config): Promise<CommandOutput> {
  const database = await openDatabase(config, () => undefined)
  try {
    const keys = (await createSigningKeys(database.db).list()).map((key) => ({
      kid: key.kid,
      purpose: key.purpose,
      status: key.status,
      createdAt: isoOf(key.createdAtMs),
      activatedAt: isoOf(key.activatedAtMs),
      retiredAt: isoOf(key.retiredAtMs),
    }))
    const lines = keys.map(({ kid, purpose, status, createdAt }) => `${kid} ${purpose} ${status} since ${createdAt}`)
    return { text: lines.join("\n"), json: { keys } }
  } finally {
    await database.close()
  }
}

const isoOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

function parse([verb = "", what = "", ...rest]: readonly string[]) {
  try {
    // A positional argument before the options is taken literally, because a key id may begin with a dash.
    const { values } = parseArgs({ args: rest, options: { early: { type: "boolean" } } })
    return { verb, what, isEarly: values.early === true }
  } catch {
    throw new UsageError(keysUsage)
  }
}

/** Changes keys. Running servers follow at their next tick, within seconds. */
async function change(config: Config, work: Work): Promise<CommandOutput> {
  const changes = await withAccountStore(config, async ({ db, ...deps }) => {
    const ring = createKeyRing({ signingKeys: createSigningKeys(db), ...deps })
    const record = auditKeyChanges(deps)
    await record(await ring.start())
    const changes = await work(ring)
    await record(changes)
    return changes
  })
  const lines = changes.map(({ kid, purpose, status }) => `${kid} ${purpose} is ${status}.`)
  return { text: lines.join("\n"), json: { changes } }
}
