// npm start: reads the settings, starts the program, prints first steps, stops on a signal.
import { createServer } from "node:net"
import { type Config, ConfigError, parseConfig } from "./config.ts"
import { createLog } from "./log.ts"
import type { Program } from "./program.ts"
import type { Supervised } from "./workers/supervisor.ts"
import { siblingsOf } from "./workers/worker.ts"

/** A shutdown that takes longer is aborted. */
const stopLimitMs = 10_000

function readConfig(): Config {
  try {
    return parseConfig(process.env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    console.error(error.message)
    process.exit(2)
  }
}

/** Chooses a port for port 0 before the start, because the issuer's URL contains it. */
async function chosen(config: Config): Promise<Config> {
  if (config.port !== 0) return config
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, config.host, resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  if (address === null || typeof address === "string") throw new Error("no free port")
  return { ...config, port: address.port, issuer: config.issuer.replace(/:0$/, `:${address.port}`) }
}

/** A host with several addresses fails with an AggregateError, whose own message may be empty. */
function sentenceOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return sentenceOf(error.errors[0])
  return error instanceof Error ? error.message : ""
}

function firstSteps({ url, issuerRootKey }: Program): string {
  return `
Signet is ready on ${url} (development profile: the provider accepts any user without a password).

The console is at ${url}/console, and an encrypted chat for two browsers at ${url}/console/chat.

Sign in as Ada, in another terminal:

  curl -s -X POST ${url}/dev/idp-a/login-request | curl -s ${url}/auth/login/idp-a -H 'content-type: application/json' -d @-

Then call with the answer's accessToken (or sign in with the command: npx @signet/cli login --help):

  curl -s ${url}/auth/session/me -H 'authorization: Bearer ACCESS_TOKEN'

A web page on http://localhost:5173 or http://localhost:3000 signs in by redirect (clients/web/README.md).

A personal access token with all administrative scopes (docs/how-to/administer-an-app.md):

  curl -s -X POST ${url}/dev/admin

Messaging clients pin the root key ${issuerRootKey ? Buffer.from(issuerRootKey).toString("base64url") : "–"}

The contract is at ${url}/docs and ${url}/openapi.json.
`
}

const siblings = siblingsOf(process.env)
const config = siblings ? readConfig() : await chosen(readConfig())
const log = siblings ? createLog(config.logLevel).child({ worker: siblings.number }) : createLog(config.logLevel)

/** Imports the program only now, so that invalid settings are reported at once. */
async function start(): Promise<Supervised> {
  if (config.workers > 1 && siblings === undefined) {
    return (await import("./workers/supervisor.ts")).supervise(config, process.env, log)
  }
  const { startProgram } = await import("./program.ts")
  const share = Math.floor(config.databaseConnections / config.workers)
  const program = await startProgram({ ...config, databaseConnections: share }, log, siblings)
  if (config.profile === "development") console.log(firstSteps(program))
  return program
}

const running = await start().catch((error: unknown) => {
  log.fatal({ err: error }, "the server could not start")
  // For the person at the terminal. Logs contain no messages.
  console.error(sentenceOf(error) || "the server could not start")
  process.exit(1)
})
if (siblings) siblings.ready(running.url)
else log.info({ url: running.url, profile: config.profile, workers: config.workers }, "ready")

let isStopping = false
function stop(): void {
  isStopping = true
  setTimeout(() => {
    log.error("the server stopped before every call had a response")
    process.exit(1)
  }, stopLimitMs).unref()
  running.close().then(
    () => process.exit(0),
    (error: unknown) => {
      log.error({ err: error }, "the stop failed")
      process.exit(1)
    },
  )
}

siblings?.onStop(() => {
  if (!isStopping) stop()
})
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // A terminal sends SIGINT to workers too. The supervisor stops them.
    if (siblings && (signal === "SIGINT" || isStopping)) return
    if (isStopping) process.exit(1)
    log.info({ signal }, "stopping")
    stop()
  })
}
