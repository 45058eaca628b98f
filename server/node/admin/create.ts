// npm run admin -- create: creates an administrator of the installation and prints their personal access token once.

import { parseArgs } from "node:util"
import { createAdministrator } from "../../rpc/admin/create-administrator.ts"
import { type Config, isLoopback } from "../config.ts"
import { type Command, UsageError } from "./command.ts"
import { withAccountStore } from "./open-account-store.ts"

const longestHours = 720

export const createUsage = `create [--name NAME] [--hours 24] [--another]
    Creates an administrator of the installation and prints a personal access token once. The token is valid for 1 to
    ${longestHours} hours. --another creates one more if there is one already.`

export const create: Command = async (args, config) => {
  const asked = parse(args)
  const made = await withAccountStore(config, (deps) => createAdministrator(deps, asked))
  if (made === undefined) throw new Error("An administrator exists already: use --another to create one more.")
  const { pat, expiresAtMs } = made
  return { text: whatToDo(config, pat, expiresAtMs), json: { pat, expiresAt: new Date(expiresAtMs).toISOString() } }
}

function parse(args: readonly string[]) {
  const options = { name: { type: "string" }, hours: { type: "string" }, another: { type: "boolean" } } as const
  const {
    name = "Administrator",
    hours = "24",
    another = false,
  } = parsed(() => parseArgs({ args: [...args], options }))
  if (!/^[1-9][0-9]{0,2}$/.test(hours) || Number(hours) > longestHours) {
    throw new UsageError(`--hours must be an integer from 1 to ${longestHours}.`)
  }
  if (name.length > 100 || /\p{Cc}/u.test(name))
    throw new UsageError("--name must have at most 100 characters, without control characters.")
  return { name, hours: Number(hours), another }
}

function parsed<T>(parse: () => { values: T }): T {
  try {
    return parse().values
  } catch {
    throw new UsageError(createUsage)
  }
}

/** The server's URL on its own machine, which works before DNS is set up. */
const here = ({ host, port }: Config): string =>
  `http://${isLoopback(host) ? (host.includes(":") ? `[${host}]` : host) : "127.0.0.1"}:${port}`

const whatToDo = (config: Config, pat: string, expiresAtMs: number): string => `
This personal access token administers the installation until ${new Date(expiresAtMs).toISOString()}.
It is shown this once:

  ${pat}

Keep it with the command, sealed, and administer with it:

  signet login --pat --server ${config.issuer}
${config.tls === null && config.issuer !== here(config) ? beforeDns(config) : ""}
Or trade it for an access token, which is good for some minutes:

  read -rs PAT
  curl -s ${config.issuer}/auth/pats/exchange -H 'content-type: application/json' -d "{\\"pat\\": \\"$PAT\\"}"
  curl -s ${config.issuer}/auth/apps -H 'authorization: Bearer ACCESS_TOKEN'
`

const beforeDns = (config: Config): string => `
Before that name and TLS exist, on this machine or through an SSH tunnel to it:

  signet login --pat --server ${here(config)} --server-issuer ${config.issuer}
`
