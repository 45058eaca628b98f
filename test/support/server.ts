// The whole server on a loopback port with a test store and a fake issuer as IDP_A. None of our code is replaced.

import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { trace } from "@opentelemetry/api"
import type { Secrets } from "@signet/kernel/keys/ports"
import { defaultLimits, type Limits } from "@signet/kernel/limits/policy"
import { createRefusalCache } from "@signet/kernel/limits/refusal-cache"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { BlobStore } from "@signet/kernel/messaging/ports"
import type { Clock, Random } from "@signet/kernel/ports"
import type { App, ProviderClient } from "@signet/kernel/records"
import { providerClient as aClient, app as anApp } from "@signet/kernel/testing/records"
import type { ExternalLoginRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { Platform, Provider } from "@signet/proto/auth/v1/records"
import type { FastifyBaseLogger } from "fastify"
import { pino } from "pino"
import { openFsBlobs } from "../../server/blobs/fs.ts"
import { createKeyRing, type RunningKeyRing } from "../../server/keys/key-ring.ts"
import { rootPublicKey, signKeySet } from "../../server/keys/root-key.ts"
import { createSecrets } from "../../server/keys/secrets.ts"
import { createApp } from "../../server/node/app.ts"
import { type Messaging, startMessaging } from "../../server/node/messaging.ts"
import { createMetrics } from "../../server/node/metrics.ts"
import { openPushes } from "../../server/node/pushes.ts"
import { type Revocations, startRevocations } from "../../server/node/revocations.ts"
import { createIdpA } from "../../server/providers/idp-a.ts"
import { createIdpB } from "../../server/providers/idp-b.ts"
import { createIdpC } from "../../server/providers/idp-c.ts"
import type { PushSettings } from "../../server/pushes/push-settings.ts"
import { appendTo, createRefusalAudit } from "../../server/rpc/audit/refusals.ts"
import { createBackground } from "../../server/rpc/background.ts"
import type { Deps } from "../../server/rpc/deps.ts"
import { createIssuerKeyStore } from "../../server/store/postgres/keys/issuer-keys.ts"
import { createReceiptKeyStore } from "../../server/store/postgres/keys/receipt-keys.ts"
import { endedUsers } from "../../server/store/postgres/messaging/ended-users.ts"
import { createFindSpans } from "../../server/store/postgres/messaging/members.ts"
import { createPushEndpoints } from "../../server/store/postgres/messaging/pushes.ts"
import { createStreamOwners } from "../../server/store/postgres/messaging/stream-owners.ts"
import { createWakeups, type OpenWakeups } from "../../server/wakeups/wakeups.ts"
import { testAuditLogDeps } from "./audit-log-deps.ts"
import { fastTmpdir } from "./fast-tmpdir.ts"
import { type FakeIdp, startFakeIdp } from "./idp.ts"
import type { openTestStore, StoreKind, TestStore } from "./postgres.ts"

export type LoginRequest = MessageInitShape<typeof ExternalLoginRequestSchema>

export interface TestServer {
  readonly url: string
  readonly port: number
  readonly app: App
  readonly client: ProviderClient
  readonly idp: FakeIdp
  readonly store: TestStore
  readonly deps: Deps
  readonly messaging: Messaging
  readonly revocations: Revocations
  /** The issuer root key that messaging clients pin. */
  readonly issuerRootKey: Uint8Array
  readonly keys: RunningKeyRing
  readonly secrets: Secrets
  /** Advances the clocks of the server and the issuer. */
  advance(ms: number): void
  /** A sign-in request for which the fake issuer vouches. */
  login(subject: string, claims?: Record<string, unknown>): Promise<LoginRequest>
  close(): Promise<void>
}

export interface TestServerOptions {
  store: StoreKind | TestStore
  /** Of a store that this server opens on PostgreSQL. Default: 20. PGlite always has one. */
  maxConnections?: number
  settings?: Partial<App["settings"]>
  client?: Partial<ProviderClient>
  log?: FastifyBaseLogger
  tls?: { cert: string; key: string }
  /** Default: a thousand times the production limits. */
  limits?: Limits
  trustedHops?: number
  /** Time advances only by `advance`: for limits that a slow machine would otherwise reach. */
  isClockStopped?: boolean
  /** Default: true, as in development. */
  isLoopbackAllowed?: boolean
  messagingAudience?: string
  leavesPerConversation?: number
  /** Default: pushes are disabled. */
  push?: PushSettings
  /** Default: a folder that is deleted with the server. */
  blobs?: (clock: Clock) => BlobStore
  peppers?: readonly { version: number; key: Uint8Array }[]
  /** Default: a separate one for this server. Pass a shared one to connect several servers. */
  wakeups?: OpenWakeups
}

const relaxed: Limits = JSON.parse(
  JSON.stringify(defaultLimits, (name, value) => (name === "limit" || name === "failures" ? value * 1_000 : value)),
)

const rootSeed = new Uint8Array(32).fill(3)
const random: Random = { bytes: (length) => randomBytes(length) }

/** Loaded lazily: a benchmark brings its own store and does not run in vitest. */
const openStore: typeof openTestStore = async (...of) => (await import("./postgres.ts")).openTestStore(...of)

export async function startTestServer(options: TestServerOptions): Promise<TestServer> {
  const store =
    typeof options.store === "string"
      ? await openStore(options.store, { maxConnections: options.maxConnections ?? 20 })
      : options.store
  let offsetMs = 0
  const startedAtMs = Date.now()
  const clock: Clock = { nowMs: () => (options.isClockStopped ? startedAtMs : Date.now()) + offsetMs }
  const idp = await startFakeIdp({ nowMs: clock.nowMs })
  const secrets = createSecrets({
    peppers: options.peppers ?? [{ version: 1, key: new Uint8Array(32).fill(1) }],
    sealingKey: new Uint8Array(32).fill(2),
  })
  const keys = createKeyRing({ signingKeys: store.signingKeys, secrets, clock })
  await keys.start()

  const app: App = { ...anApp, settings: { ...anApp.settings, ...options.settings } }
  const client: ProviderClient = {
    ...aClient,
    issuers: [idp.issuer],
    canonicalIssuer: idp.issuer,
    jwksUri: idp.jwksUri,
    tokenEndpoint: idp.tokenEndpoint,
    ...options.client,
  }
  await store.store.transaction(async (tx) => {
    await tx.apps.putApp(app)
    await tx.apps.putProviderClient(client)
  })

  const idpB = createIdpB({ clock, secrets, isLoopbackAllowed: true })
  const deps: Deps = {
    store: store.store,
    keys,
    secrets,
    clock,
    random,
    limiter: {
      limits: options.limits ?? structuredClone(relaxed),
      refused: createRefusalCache(),
    },
    refusals: createRefusalAudit({ append: appendTo(store.store), clock, random }, () => {}),
    providers: { IDP_A: createIdpA({ clock, secrets, isLoopbackAllowed: true }), IDP_B: idpB },
    notificationReaders: { IDP_B: idpB },
    emailProviders: { IDP_C: createIdpC({ clock, secrets, isLoopbackAllowed: true }) },
    background: createBackground(() => {}),
    issuer: "https://auth.example",
    authAudience: "auth",
    accessTokenSeconds: 600,
    isLoopbackAllowed: options.isLoopbackAllowed ?? true,
  }
  const blobFolder = mkdtempSync(join(fastTmpdir(), "signet-blobs-"))
  const wakeups = options.wakeups ?? createWakeups({ others: null, onError: () => undefined })
  const revocations = startRevocations({ log: store.revocationLog, deps, wakeups, onFault: () => undefined })
  store.onRevoked.add(revocations.committed)
  const pushing = {
    endpoints: createPushEndpoints(store.db, { audit: testAuditLogDeps() }),
    clock,
    random,
    isLoopbackAllowed: true,
  }
  const messaging = await startMessaging({
    accounts: deps,
    store: store.messaging,
    issuerKeyStore: createIssuerKeyStore(store.db),
    receiptKeys: createReceiptKeyStore(store.db),
    loadKeySet: (named) =>
      signKeySet({
        seed: rootSeed,
        issuer: deps.issuer,
        keys: named,
        version: BigInt(Math.floor(clock.nowMs() / 1_000)),
        nowMs: clock.nowMs(),
        days: 365,
      }),
    pushes: await openPushes(options.push ?? null, pushing),
    leavesPerConversation: options.leavesPerConversation ?? maxCount.leaves.default,
    wakeups,
    blobs: options.blobs?.(clock) ?? (await openFsBlobs(blobFolder, { nowMs: Date.now() })),
    endedUsers: (limit) => endedUsers(store.db, limit),
    findStreamOwners: createStreamOwners(store.db),
    findSpans: createFindSpans(store.db),
    onFault: () => undefined,
  })
  const server = await createApp({
    deps,
    messaging: messaging.deps,
    moving: store.moving,
    messagingAudience: options.messagingAudience ?? deps.authAudience,
    liveness: store.liveness,
    revocations: revocations.feed,
    log:
      options.log ?? pino({ level: process.env.TEST_LOG_LEVEL ?? "silent" }, pino.destination({ dest: 2, sync: true })),
    metrics: createMetrics(),
    tracer: trace.getTracer("test"),
    hasReflection: true,
    tls: options.tls ?? null,
    trustedHops: options.trustedHops ?? 0,
    callLimitMs: 30_000,
    console: null,
  })
  await server.listen({ host: "127.0.0.1", port: 0 })
  const { port } = server.server.address() as AddressInfo
  return {
    url: `http${options.tls ? "s" : ""}://127.0.0.1:${port}`,
    port,
    app,
    client,
    idp,
    store,
    deps,
    messaging,
    revocations,
    issuerRootKey: rootPublicKey(rootSeed),
    keys,
    secrets,
    advance(ms) {
      offsetMs += ms
    },
    async login(subject, claims = {}) {
      const idToken = await idp.mint({ claims: { sub: subject, jti: randomBytes(9).toString("hex"), ...claims } })
      return {
        appId: app.id,
        provider: Provider.IDP_A,
        platform: Platform.WEB,
        nonce: "n-1",
        credential: { case: "idToken", value: idToken },
      }
    },
    async close() {
      await server.close()
      store.onRevoked.delete(revocations.committed)
      await revocations.stop()
      await messaging.stop()
      await idp.stop()
      rmSync(blobFolder, { recursive: true, force: true })
      if (typeof options.store === "string") await store.close()
    },
  }
}
