// A test server with the messaging Worker beside it: users sign in at the server and send messages through the Worker.
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { Agent } from "node:http"
import { join } from "node:path"
import { createConnectTransport } from "@connectrpc/connect-node"
import { nodeSigner } from "@signet/canonical/node/ed25519"
import { transferEntry } from "../../server/edge/node/build.ts"
import { startWorkerd } from "../../server/edge/node/workerd.ts"
import type { PushSettings } from "../../server/pushes/push-settings.ts"
import { createMessagingBackend } from "../../server/rpc/admin/create-backend.ts"
import { createReceiptKeyStore } from "../../server/store/postgres/keys/receipt-keys.ts"
import { run } from "../../server/store/postgres/sql.ts"
import { workerBundle } from "./edge.ts"
import { fastTmpdir } from "./fast-tmpdir.ts"
import { type MessagingServer, startMessagingServer } from "./messaging/test-server.ts"
import { openTestStore, type StoreKind } from "./postgres.ts"
import type { TestServerOptions } from "./server.ts"

/** A client's view of a deployment, without access to its internals. */
export interface Deployment
  extends Pick<MessagingServer, "app" | "issuerRootKey" | "login" | "messagingUrl" | "person" | "transport" | "url"> {
  /** Audience of the messaging tokens. */
  readonly audience: string
  /** The server, unless messaging runs in the Worker: tests move its time and change its database. */
  readonly inProcess?: MessagingServer
  /** Only with the Worker: stops it, runs work on the folder of its data, and starts it again. */
  readonly atRest?: (work: (folder: string) => void) => Promise<void>
  close(): Promise<void>
}

export interface EdgeServer extends Deployment {
  /** The auth service, which also is a messaging backend itself. */
  readonly node: MessagingServer
  /** URL of the transfer service for the Worker's objects. */
  readonly transferUrl: string | undefined
  /** Kills workerd and starts another one at the same URL with the stored data. */
  crash(): Promise<void>
  readonly atRest: (work: (folder: string) => void) => Promise<void>
}

interface DeploymentOptions extends Pick<TestServerOptions, "settings"> {
  readonly store: StoreKind
  /** Also runs the transfer service, and offers the auth service's own messaging as a backend. */
  readonly isMoving?: boolean
  /** Default: pushes are disabled. */
  readonly push?: PushSettings
  /** Receives the lines of the Worker's log. */
  readonly onLine?: (line: string) => void
}

/** Starts messaging in the auth service itself or, with SIGNET_MESSAGING=edge, in the Worker beside it. */
export async function startDeployment(options: DeploymentOptions): Promise<Deployment> {
  if (process.env.SIGNET_MESSAGING === "edge") return startEdgeServer(options)
  const inProcess = await startMessagingServer(options)
  return { ...inProcess, audience: "auth", inProcess }
}

const audience = "messaging"

/** Closes an idle connection before workerd does, after five seconds: the next call could meet a closed one. */
const agent = new Agent({ keepAlive: true, timeout: 2_000 })

export async function startEdgeServer({
  store: kind,
  settings,
  push,
  isMoving = false,
  onLine = logged,
}: DeploymentOptions): Promise<EdgeServer> {
  const closing: (() => unknown)[] = []
  const close = async () => {
    for (const one of closing.splice(0).toReversed()) await one()
  }
  try {
    const bundling = workerBundle()
    const folder = mkdtempSync(join(fastTmpdir(), "signet-edge-"))
    closing.push(() => rmSync(folder, { recursive: true, force: true }))
    const store = await openTestStore(kind, { maxConnections: 20 })
    closing.push(() => store.close())
    const receiptKey = randomBytes(32)
    const { publicKey } = nodeSigner(receiptKey)
    // Before the server starts, so that the key is in the first key set that the issuer signs.
    await createReceiptKeyStore(store.db).add({ publicKey, name: "edge", createdAtMs: Date.now() })
    const server = await startMessagingServer({
      store,
      messagingAudience: audience,
      ...(settings ? { settings } : {}),
    })
    closing.push(() => server.close())
    const { clientId, clientSecret } = await createMessagingBackend(server.deps, {
      ...{ appId: server.app.id, name: "edge", messagingAudience: audience, replaces: false },
    })
    const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")
    const texts = {
      SIGNET_PROFILE: "development",
      SIGNET_ISSUER: server.deps.issuer,
      SIGNET_AUTH_URL: server.url,
      SIGNET_AUTH_AUDIENCE: server.deps.authAudience,
      SIGNET_MESSAGING_AUDIENCE: audience,
      SIGNET_ROOT_KEY: text(server.issuerRootKey),
      SIGNET_ALLOWED_ORIGINS: (settings?.allowedOrigins ?? []).join(","),
      SIGNET_LIMITS: "off",
      SIGNET_CLIENT_ID: clientId,
      SIGNET_CLIENT_SECRET: clientSecret,
      SIGNET_RECEIPT_KEY: text(receiptKey),
      SIGNET_SEALING_KEY: text(randomBytes(32)),
      SIGNET_PEPPERS: `1:${text(randomBytes(32))}`,
      ...(push && {
        SIGNET_PUSH_HOSTS: push.hosts.join(","),
        SIGNET_PUSH_KEY: push.key,
        SIGNET_PUSH_CONTACT: push.contact,
      }),
    }
    const { code } = await bundling
    const beside = isMoving ? { besideCode: (await workerBundle(transferEntry)).code } : {}
    const start = (port: number) => startWorkerd({ code, ...beside, persist: folder, port, texts, onLine })
    let worker = await start(0)
    closing.push(() => worker.close())
    const { url: messagingUrl } = worker
    async function atRest(work: (folder: string) => void): Promise<void> {
      process.kill(worker.pid, "SIGKILL")
      await worker.kill()
      work(folder)
      worker = await start(Number(new URL(messagingUrl).port))
    }
    return {
      ...server,
      node: server,
      transferUrl: worker.besideUrl,
      messagingUrl,
      transport: createConnectTransport({
        ...{ baseUrl: messagingUrl, httpVersion: "1.1", useBinaryFormat: true },
        nodeOptions: { agent },
      }),
      audience,
      crash: () => atRest(() => undefined),
      atRest,
      async close() {
        try {
          if (!isMoving) await expectUnused(server)
        } finally {
          await close()
        }
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Prints the Worker's log if TEST_LOG_LEVEL is set. */
const logged = (line: string) => {
  if (process.env.TEST_LOG_LEVEL !== undefined) process.stderr.write(`${line}\n`)
}

/** @throws Error if a device was registered with the auth service: the story then did not use the Worker. */
async function expectUnused({ store: { db } }: MessagingServer): Promise<void> {
  const [device] = await run(db, "select id from messaging_device limit 1", [])
  if (device !== undefined) throw new Error("a device was registered with the auth service")
}
