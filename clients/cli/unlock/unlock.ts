// The unlock: for some minutes after a passphrase was entered, commands neither prompt for it nor derive its key again.
import { join } from "node:path"
import { createFileLock, type KeyHolder } from "@signet/client-node"
import { type Cli, complain } from "../cli.ts"
import { CommandError, exitCodes, reportOf, usage } from "../failure.ts"
import { parseCount } from "../lists.ts"
import { homeOf } from "../profiles.ts"
import { findKey, lockAgent, startAgent } from "./agent-client.ts"
import { agentPlaceOf } from "./folder.ts"

export const maxUnlockMinutes = 480
const defaultMinutes = 15

/** SIGNET_UNLOCK_MINUTES: 0 prompts at every command. */
export function unlockMinutesOf({ env, options }: Cli): number {
  if (options.unlockMinutes !== undefined) return options.unlockMinutes
  const text = env.SIGNET_UNLOCK_MINUTES
  if (text === undefined || text === "") return defaultMinutes
  return parseUnlockMinutes(text, (message) => usage(`SIGNET_UNLOCK_MINUTES: ${message}`))
}

export function parseUnlockMinutes(text: string, refuse: (message: string) => Error): number {
  if (text === "0") return 0
  try {
    return parseCount(text, maxUnlockMinutes)
  } catch {
    throw refuse(`use an integer from 0 to ${maxUnlockMinutes}, not ${JSON.stringify(text)}`)
  }
}

/** Undefined without unlocking: by choice, or on a system without such sockets. */
export function keyHolderOf(cli: Cli): KeyHolder | undefined {
  const place = agentPlaceOf(homeOf(cli.env))
  if (place === undefined || unlockMinutesOf(cli) === 0) return undefined
  return {
    find: (id) => findKey(place, id),
    async hold(id, key) {
      try {
        if (cli.program !== undefined) await holdKey(cli, id, key)
      } catch (error) {
        // The command has its key; only the next one must prompt again.
        const report = reportOf(error)
        if (!cli.options.json) complain(cli, { ...report, sentence: `not unlocked: ${report.sentence}` })
      }
    },
  }
}

/**
 * Starts the agent, unless one holds this key: of two concurrent commands with the passphrase, one starts it.
 *
 * @throws CommandError UNLOCK_UNAVAILABLE, UNLOCK_FOLDER_OPEN
 */
export async function holdKey(cli: Cli, id: string, key: Uint8Array): Promise<void> {
  const home = homeOf(cli.env)
  const place = agentPlaceOf(home)
  const { program } = cli
  if (place === undefined || program === undefined) {
    throw new CommandError("UNLOCK_UNAVAILABLE", exitCodes.unavailable, "unlocking is not possible on this system", {
      hint: "It requires Unix sockets, and a SIGNET_HOME of at most 78 bytes.",
    })
  }
  await createFileLock(join(home, "unlock-lock")).run(async () => {
    const held = await findKey(place, id)
    if (held === undefined) await startAgent(place, { program, id, key, minutes: unlockMinutesOf(cli) })
    held?.fill(0)
  })
}

/** @returns True if a store was unlocked. */
export async function lockNow({ env }: Cli): Promise<boolean> {
  const home = homeOf(env)
  const place = agentPlaceOf(home)
  if (place === undefined) return false
  return createFileLock(join(home, "unlock-lock")).run(() => lockAgent(place))
}
