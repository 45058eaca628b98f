// Runs the Worker on this machine beside an auth service in the development profile: for trial and tests.
import { randomBytes } from "node:crypto"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { join } from "node:path"
import { nodeSigner } from "@signet/canonical/node/ed25519"
import { parseConfig } from "../../node/config.ts"
import { createLog } from "../../node/log.ts"
import { type Bundle, buildWorker } from "./build.ts"
import { startWorkerd, type Workerd } from "./workerd.ts"

interface EdgeOptions {
  /** The folder of all stored data: the objects, the bucket, the backend's keys, and the auth service's data. */
  readonly persist: string
  /** A running auth service in the development profile, with a separate messaging audience. */
  readonly authUrl?: string | undefined
  /** A loopback port; a free one by default. */
  readonly port?: number
  readonly authPort?: number
  /** SIGNET_LIMITS of both programs: changes to the rate limits as JSON, or `off`. */
  readonly limits?: string | undefined
  /** Additional or replaced settings of the Worker. */
  readonly settings?: Readonly<Record<string, string>>
  /** A prepared bundle, for tests that start the Worker often. */
  readonly bundle?: Bundle
  /** The bundle of the Worker that moves places, to run beside. */
  readonly transfer?: Bundle
  /** Called with the lines of the Worker's log and of the runtime. */
  readonly onLine?: (line: string) => void
}

export interface Edge {
  /** The URL of messaging. */
  readonly url: string
  /** The URL for moving places, if requested. */
  readonly transferUrl: string | undefined
  readonly authUrl: string
  /** The root key that clients pin, in base64url. */
  readonly rootKey: string
  /** The process id of workerd. */
  readonly pid: number
  /** Kills workerd as a crash would. The auth service continues; `again` starts another workerd on the same data. */
  kill(): Promise<void>
  /** Restarts the Worker at the same address after `kill`. */
  again(): Promise<void>
  /** Stops both, the Worker first. A provided auth service continues. */
  close(): Promise<void>
}

/** The audience of messaging's tokens. It is separate, so that the backend may introspect them. */
export const messagingAudience = "messaging"

export async function startEdge(options: EdgeOptions): Promise<Edge> {
  const { persist, limits } = options
  await mkdir(persist, { recursive: true, mode: 0o700 })
  const bundle = options.bundle ?? (await buildWorker())
  // The console's page is served by the auth service, and names the Worker: its port is needed first.
  const port = options.port ?? (await freePort())
  const auth =
    options.authUrl === undefined
      ? await startAuth(options, `http://127.0.0.1:${port}`)
      : { url: options.authUrl, close: async () => {} }
  try {
    const { texts, rootKey } = await settingsOf(persist, auth.url)
    const start = (port: number) =>
      startWorkerd({
        code: bundle.code,
        ...(options.transfer ? { besideCode: options.transfer.code } : {}),
        texts: { ...texts, ...(limits === undefined ? {} : { SIGNET_LIMITS: limits }), ...options.settings },
        persist: join(persist, "worker"),
        port,
        ...(options.onLine ? { onLine: options.onLine } : {}),
      })
    let worker: Workerd = await start(port)
    const { url } = worker
    return {
      url,
      transferUrl: worker.besideUrl,
      authUrl: auth.url,
      rootKey,
      get pid() {
        return worker.pid
      },
      kill: () => worker.kill(),
      async again() {
        worker = await start(Number(new URL(url).port))
      },
      async close() {
        await worker.close()
        await auth.close()
      },
    }
  } catch (error) {
    await auth.close()
    throw error
  }
}

async function startAuth(
  { persist, authPort, limits }: EdgeOptions,
  workerUrl: string,
): Promise<{ url: string; close(): Promise<void> }> {
  const config = parseConfig({
    SIGNET_PROFILE: "development",
    SIGNET_DATA: join(persist, "auth"),
    SIGNET_MESSAGING_AUDIENCE: messagingAudience,
    SIGNET_CONSOLE_BACKEND: workerUrl,
    PORT: String(authPort ?? (await freePort())),
    ADMIN_PORT: "0",
    LOG_LEVEL: "error",
    ...(limits === undefined ? {} : { SIGNET_LIMITS: limits }),
  })
  // Imported here, because with a provided auth service no database is needed.
  const { startProgram } = await import("../../node/program.ts")
  return startProgram(config, createLog(config.logLevel))
}

/** The keys that the backend created at its first start. */
interface OwnKeys {
  readonly receiptKey: string
  readonly sealingKey: string
  readonly pepper: string
}

/** The service account's credentials and the backend's own keys, as settings of the Worker. */
async function settingsOf(persist: string, authUrl: string) {
  const keys = await ownKeys(join(persist, "backend.json"))
  const { publicKey } = nodeSigner(new Uint8Array(Buffer.from(keys.receiptKey, "base64")))
  const response = await fetch(`${authUrl}/dev/messaging-backend`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ receiptKey: Buffer.from(publicKey).toString("base64url") }),
  })
  if (!response.ok) throw new Error(`${authUrl} did not create a backend account: status ${response.status}`)
  const account: unknown = await response.json()
  const rootKey = textIn(account, "issuerRootKey")
  const texts = {
    SIGNET_PROFILE: "development",
    SIGNET_ISSUER: authUrl,
    SIGNET_MESSAGING_AUDIENCE: messagingAudience,
    SIGNET_ROOT_KEY: Buffer.from(rootKey, "base64url").toString("base64"),
    SIGNET_CLIENT_ID: textIn(account, "clientId"),
    SIGNET_CLIENT_SECRET: textIn(account, "clientSecret"),
    SIGNET_RECEIPT_KEY: keys.receiptKey,
    SIGNET_SEALING_KEY: keys.sealingKey,
    SIGNET_PEPPERS: `1:${keys.pepper}`,
    // The console's page, under both names of this machine.
    SIGNET_ALLOWED_ORIGINS: [authUrl, authUrl.replace("//127.0.0.1:", "//localhost:")].join(","),
  }
  return { texts, rootKey }
}

async function ownKeys(file: string): Promise<OwnKeys> {
  const fresh = () => randomBytes(32).toString("base64")
  const made: OwnKeys = { receiptKey: fresh(), sealingKey: fresh(), pepper: fresh() }
  await writeFile(file, `${JSON.stringify(made)}\n`, { flag: "wx", mode: 0o600 }).catch((error: unknown) => {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
  })
  const kept: unknown = JSON.parse(await readFile(file, "utf8"))
  return {
    receiptKey: textIn(kept, "receiptKey"),
    sealingKey: textIn(kept, "sealingKey"),
    pepper: textIn(kept, "pepper"),
  }
}

function textIn(value: unknown, name: string): string {
  const [, text] = Object.entries(value ?? {}).find(([each]) => each === name) ?? []
  if (typeof text !== "string") throw new Error(`${name} is missing`)
  return text
}

/** A port that was free just before: the issuer's URL needs it before anything starts. */
async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  if (address === null || typeof address === "string") throw new Error("no free port")
  return address.port
}
