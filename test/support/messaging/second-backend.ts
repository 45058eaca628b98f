// A second messaging backend of one auth service: the same handlers with another database, blobs, wakeups and receipt
// key.
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { trace } from "@opentelemetry/api"
import { nodeSigner } from "@signet/canonical/node/ed25519"
import { pino } from "pino"
import { openFsBlobs } from "../../../server/blobs/fs.ts"
import { createReceiptSigner, createTicketSigner } from "../../../server/keys/authority.ts"
import { createApp } from "../../../server/node/app.ts"
import { createMetrics } from "../../../server/node/metrics.ts"
import { createReceiptKeyStore } from "../../../server/store/postgres/keys/receipt-keys.ts"
import { createWakeups } from "../../../server/wakeups/wakeups.ts"
import { fastTmpdir } from "../fast-tmpdir.ts"
import { openTestStore, type StoreKind, type TestStore } from "../postgres.ts"
import type { MessagingServer } from "./test-server.ts"

interface SecondBackend {
  readonly url: string
  readonly store: TestStore
  close(): Promise<void>
}

export async function startSecondBackend(server: MessagingServer, kind: StoreKind): Promise<SecondBackend> {
  const store = await openTestStore(kind, { maxConnections: 20 })
  const { deps, messaging } = server
  const receipts = nodeSigner(new Uint8Array(randomBytes(32)))
  // Another set in the same second would be a fork.
  server.advance(1_000)
  const added = { publicKey: receipts.publicKey, name: "second", createdAtMs: deps.clock.nowMs() }
  await createReceiptKeyStore(server.store.db).add(added)
  await messaging.issuerKeys.tick()
  const ring = { signer: () => receipts, keySet: () => messaging.issuerKeys.keySet() }
  const folder = mkdtempSync(join(fastTmpdir(), "signet-blobs-"))
  const wakeups = createWakeups({ others: null, onError: () => undefined })
  // Sessions belong to the auth service, wherever devices are stored.
  const devices = {
    ...store.messaging.devices,
    bindSession: server.store.messaging.devices.bindSession,
  }
  const app = await createApp({
    deps,
    messaging: {
      ...messaging.deps,
      store: { ...store.messaging, devices },
      signReceipt: createReceiptSigner(ring, deps.issuer),
      signTicket: createTicketSigner(ring, deps.issuer),
      wakeups,
      blobs: await openFsBlobs(folder, { nowMs: Date.now() }),
    },
    moving: store.moving,
    messagingAudience: deps.authAudience,
    liveness: server.store.liveness,
    revocations: server.revocations.feed,
    log: pino({ level: process.env.TEST_LOG_LEVEL ?? "silent" }, pino.destination({ dest: 2, sync: true })),
    metrics: createMetrics(),
    tracer: trace.getTracer("test"),
    hasReflection: false,
    tls: null,
    trustedHops: 0,
    callLimitMs: 30_000,
    console: null,
  })
  await app.listen({ host: "127.0.0.1", port: 0 })
  const { port } = app.server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    store,
    async close() {
      await app.close()
      await wakeups.close()
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
