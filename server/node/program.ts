// The server program: database, keys, providers and listeners, started in order and stopped in reverse order.

import { readFileSync } from "node:fs"
import type { AddressInfo } from "node:net"
import type { SpanExporter } from "@opentelemetry/sdk-trace"
import { developmentAppId, refuseDevelopmentData } from "@signet/development/app-id"
import type { AddedBackend } from "@signet/development/backend"
import type { KeyRing } from "@signet/kernel/keys/ports"
import { createRefusalCache } from "@signet/kernel/limits/refusal-cache"
import type { Clock, Random } from "@signet/kernel/ports"
import type { FastifyBaseLogger } from "fastify"
import { createKeyRing } from "../keys/key-ring.ts"
import { pooledRandomBytes } from "../keys/pooled-random.ts"
import { createIdpA } from "../providers/idp-a.ts"
import { createIdpB } from "../providers/idp-b.ts"
import { createIdpC } from "../providers/idp-c.ts"
import { eraseDue } from "../rpc/account/erase-due.ts"
import { createAdministrator } from "../rpc/admin/create-administrator.ts"
import { endDueLocks } from "../rpc/admin/end-due-locks.ts"
import { createAdministratorInvitations } from "../rpc/admin/invite-administrator.ts"
import { appendTo, createRefusalAudit } from "../rpc/audit/refusals.ts"
import { createBackground } from "../rpc/background.ts"
import type { Deps } from "../rpc/deps.ts"
import { createAuditLogDeps } from "../store/postgres/audit/audit-log-deps.ts"
import { createIssuerKeyStore } from "../store/postgres/keys/issuer-keys.ts"
import { createReceiptKeyStore } from "../store/postgres/keys/receipt-keys.ts"
import { createSigningKeys } from "../store/postgres/keys/signing-keys.ts"
import { endedUsers } from "../store/postgres/messaging/ended-users.ts"
import { createFindSpans } from "../store/postgres/messaging/members.ts"
import { missedHints } from "../store/postgres/messaging/missed.ts"
import { createMoving } from "../store/postgres/messaging/moving/moving.ts"
import { createPushEndpoints } from "../store/postgres/messaging/pushes.ts"
import { createMessagingStore } from "../store/postgres/messaging/store.ts"
import { createStreamOwners } from "../store/postgres/messaging/stream-owners.ts"
import { sweepMessaging } from "../store/postgres/messaging/sweep.ts"
import { migrate } from "../store/postgres/migrate.ts"
import { primaryOf } from "../store/postgres/primary.ts"
import { createLiveness } from "../store/postgres/session/liveness.ts"
import { analyzeGrown } from "../store/postgres/statistics.ts"
import { createStore } from "../store/postgres/store.ts"
import { sweep } from "../store/postgres/sweep.ts"
import { createRevocationLog } from "../store/postgres/token/revocation-log.ts"
import { createWakeups } from "../wakeups/wakeups.ts"
import { addDevelopmentBackend } from "./add-backend.ts"
import { createApp } from "./app.ts"
import { startAuditChainer, startCheckpoints } from "./audit-chainer.ts"
import type { Config } from "./config.ts"
import type { ConsoleSettings } from "./console.ts"
import { every } from "./every.ts"
import { developmentKeySet, keySetFile } from "./issuer-key-set.ts"
import { auditKeyChanges } from "./key-changes.ts"
import { startMessaging } from "./messaging.ts"
import { createMetrics, type Metrics } from "./metrics.ts"
import { openBlobs } from "./open-blobs.ts"
import { openDatabase } from "./open-database.ts"
import { followSealingKeys, openSecrets } from "./open-secrets.ts"
import { openPushes } from "./pushes.ts"
import { readinessOf } from "./readiness.ts"
import { createMemoryRelease } from "./release-memory.ts"
import { startRevocations } from "./revocations.ts"
import { serveMetrics } from "./telemetry/serve-metrics.ts"
import { startTracing } from "./tracing.ts"
import type { Siblings } from "./workers/worker.ts"

export interface Program {
  /** URL of the public server. */
  readonly url: string
  /** URL of the metrics; empty in a worker, whose supervisor serves them. */
  readonly adminUrl: string
  readonly deps: Deps
  /** Public key of the development profile's root, which messaging clients pin; null in production. */
  readonly issuerRootKey: Uint8Array | null
  /** Registers a messaging backend beside this server by its public receipt key; null in production. */
  readonly addMessagingBackend: ((receiptKey: Uint8Array) => Promise<AddedBackend>) | null
  /** Ends streams, drains calls, closes the database. */
  close(): Promise<void>
}

const clock: Clock = { nowMs: () => Date.now() }
const random: Random = { bytes: pooledRandomBytes }

/** Interval for detecting signing keys that another process rotated. */
const keyTickMs = 10_000
const sweepEveryMs = 60_000
const eraseEveryMs = 60_000
/** For so long a statement may use a plan that was made for a smaller table. */
const analyzeEveryMs = 5_000
const releaseEveryMs = 2_000
/** Maximum delay of the end of a principal's lock. */
const locksEveryMs = 1_000

/** The state that the stages of the start share. */
interface Start {
  readonly config: Config
  readonly log: FastifyBaseLogger
  /** Undefined in a process without workers. */
  readonly siblings: Siblings | undefined
  readonly metrics: Metrics
  readonly onFault: (fault: unknown) => void
  /** Registers a cleanup. Cleanups run in reverse order when the program stops. */
  onClose(stop: () => Promise<void> | void): void
}

/**
 * @param siblings The other workers of the same port, if this process is one of several.
 * @throws Error if a stage fails; earlier stages are then stopped.
 */
export async function startProgram(config: Config, log: FastifyBaseLogger, siblings?: Siblings): Promise<Program> {
  const stops: (() => Promise<void> | void)[] = []
  const close = async () => {
    while (stops.length > 0) await stops.pop()?.()
  }
  const start: Start = {
    config,
    log,
    siblings,
    metrics: createMetrics(),
    onFault: (fault) => log.error({ err: fault }, "fault"),
    onClose: (stop) => stops.push(stop),
  }
  try {
    const storage = await openStorage(start)
    const keys = await startKeys(start, storage)
    const deps = createDeps(start, storage, keys)
    startHousekeeping(start, storage, deps)
    const feeds = startFeeds(start, storage, deps)
    const messaging = await openMessaging(start, storage, deps, feeds)
    const app = await openApp(start, storage, { deps, feeds, messaging })
    if (config.profile === "development") await addDevelopment(start, storage, { deps, messaging, app })
    else await refuseDevelopmentData(storage.store)
    return { ...(await listen(start, app)), deps, ...messaging.development, close }
  } catch (error) {
    await close()
    throw error
  }
}

type Storage = Awaited<ReturnType<typeof openStorage>>

/** Opens the migrated database, the secrets, and the store with its audit log. */
async function openStorage({ config, log, siblings, onFault, onClose }: Start) {
  const { db, connections, close } = await openDatabase(config, onFault)
  onClose(close)
  const applied = await migrate(db, { during: siblings?.reportDuring })
  if (applied.length > 0) log.info({ migrations: applied }, "migrated")
  const opened = await openSecrets(db, config)
  const sealing = await followSealingKeys(db, opened, clock.nowMs())
  onClose(() => sealing.close())
  onClose(every(keyTickMs, sealing.tick, onFault))
  const chainer = startAuditChainer({ db, seals: opened.seals, clock, onFault })
  onClose(() => chainer.close())
  const audit = createAuditLogDeps(opened.seals, chainer.wake)
  /** `notify` is called after revocations were committed. */
  const revoked = { notify: () => {} }
  const writing = { audit, onRevoked: () => revoked.notify() }
  return { db, connections, secrets: opened.secrets, store: createStore(db, writing), writing, revoked }
}

/** Starts the signing keys, which this process rotates when due, and the audit checkpoints that they sign. */
async function startKeys({ config, onFault, onClose }: Start, { db, secrets, store, writing }: Storage) {
  const keys = createKeyRing({ signingKeys: createSigningKeys(db, writing.onRevoked), secrets, clock })
  const recordKeys = auditKeyChanges({ store, clock, random })
  await recordKeys(await keys.start())
  onClose(every(keyTickMs, async () => recordKeys(await keys.tick()), onFault))
  const { issuer, auditCheckpointSeconds: everySeconds } = config
  onClose(startCheckpoints({ db, writing: writing.audit, keys, clock, random, issuer, everySeconds }, onFault))
  return keys
}

function createDeps(
  { config, log, metrics, onFault, onClose }: Start,
  { secrets, store }: Storage,
  keys: KeyRing,
): Deps {
  const isLoopbackAllowed = config.profile === "development"
  const idpB = createIdpB({ clock, secrets, isLoopbackAllowed })
  const report = (fault: unknown) => log.warn({ err: fault }, "IDP_C")
  const background = createBackground((fault) => log.warn({ err: fault }, "sending a magic link failed"))
  onClose(() => background.settled())
  const refusals = createRefusalAudit({ append: appendTo(store), clock, random }, onFault)
  onClose(() => refusals.flush(Number.POSITIVE_INFINITY))
  const { limits } = config
  return {
    store,
    keys,
    secrets,
    clock,
    random,
    limiter: limits && { limits, refused: createRefusalCache(), onRefused: metrics.onLimited },
    refusals,
    providers: { IDP_A: createIdpA({ clock, secrets, isLoopbackAllowed }), IDP_B: idpB },
    notificationReaders: { IDP_B: idpB },
    emailProviders: { IDP_C: createIdpC({ clock, secrets, isLoopbackAllowed, report }) },
    background,
    issuer: config.issuer,
    authAudience: config.authAudience,
    accessTokenSeconds: config.accessTokenSeconds,
    isLoopbackAllowed,
  }
}

/** Starts periodic work: releases memory, writes counts of refusals, deletes expired rows, analyses tables, ends locks. */
function startHousekeeping({ siblings, metrics, onFault, onClose }: Start, { db }: Storage, deps: Deps): void {
  onClose(every(releaseEveryMs, createMemoryRelease(), onFault))
  onClose(every(sweepEveryMs, () => deps.refusals.flush(), onFault))
  if (siblings?.isFirst === false) return
  const { swept } = metrics
  const sweepAccounts = swept("accounts", () => sweep(db, clock.nowMs()))
  const sweepConversations = swept("messaging", () => sweepMessaging(db, clock.nowMs()))
  onClose(every(sweepEveryMs, sweepAccounts, onFault))
  onClose(every(sweepEveryMs, sweepConversations, onFault))
  onClose(every(analyzeEveryMs, () => analyzeGrown(db), onFault))
  onClose(every(eraseEveryMs, () => eraseDue(deps, onFault), onFault))
  onClose(every(locksEveryMs, () => endDueLocks(deps, onFault), onFault))
}

type Feeds = ReturnType<typeof startFeeds>

/** Starts hints between processes and the revocation feed. */
function startFeeds(
  { config: { databaseUrl, databaseDirectUrl }, siblings, metrics, onFault, onClose }: Start,
  storage: Storage,
  deps: Deps,
) {
  const { db, connections, revoked } = storage
  const origin = Buffer.from(random.bytes(8)).toString("hex")
  const listenUrl = databaseDirectUrl ?? databaseUrl
  const othersAt = (url: string) => ({ findDatabase: primaryOf(url), origin, missed: missedHints(db) })
  const others = listenUrl === null ? null : { ...othersAt(listenUrl), openBus: siblings?.openBus }
  const wakeups = createWakeups({ others, onError: onFault })
  onClose(() => wakeups.close())
  const revocations = startRevocations({ log: createRevocationLog(db), deps, wakeups, onFault })
  onClose(() => revocations.stop())
  revoked.notify = revocations.committed
  metrics.watch({ connections, feedLagMs: revocations.feed.lagMs })
  return { wakeups, revocations }
}

type OpenMessaging = Awaited<ReturnType<typeof openMessaging>>

async function openMessaging(
  { config, log, onFault, onClose }: Start,
  { db, writing }: Storage,
  deps: Deps,
  { wakeups }: Feeds,
) {
  const root = config.profile === "development" ? developmentKeySet(config.dataFolder, config.issuer, clock) : null
  const receiptKeys = createReceiptKeyStore(db)
  const isLoopbackAllowed = config.profile === "development"
  const pushing = { endpoints: createPushEndpoints(db, writing), clock, random, isLoopbackAllowed }
  const messaging = await startMessaging({
    accounts: deps,
    store: createMessagingStore(db, writing),
    issuerKeyStore: createIssuerKeyStore(db),
    receiptKeys,
    loadKeySet: root ?? keySetFile(config.issuerKeySetFile),
    wakeups,
    blobs: await openBlobs(config.blobs, clock),
    pushes: await openPushes(config.push, pushing),
    leavesPerConversation: config.leavesPerConversation,
    endedUsers: (limit) => endedUsers(db, limit),
    findStreamOwners: createStreamOwners(db),
    findSpans: createFindSpans(db),
    onFault,
  })
  onClose(() => messaging.stop())
  const { issuerKeys } = messaging
  if (issuerKeys.keySet() === undefined) log.warn("messaging is not available, no issuer key set is configured")
  const { messagingAudience } = config
  const backendOf = root && { deps, messagingAudience, receiptKeys, issuerKeys, issuerRootKey: root.rootKey }
  const addMessagingBackend = backendOf && ((receiptKey: Uint8Array) => addDevelopmentBackend(backendOf, receiptKey))
  return { deps: messaging.deps, development: { issuerRootKey: root?.rootKey ?? null, addMessagingBackend } }
}

async function openApp(
  { config, log, siblings, metrics, onClose }: Start,
  { db, writing }: Storage,
  { deps, feeds, messaging }: { deps: Deps; feeds: Feeds; messaging: OpenMessaging },
) {
  const { traceEndpoint, tls } = config
  const tracing = startTracing(traceEndpoint === null ? undefined : { exporter: await exporterTo(traceEndpoint) })
  onClose(() => tracing.stop())
  return createApp({
    deps,
    messaging: messaging.deps,
    moving: createMoving(db, writing),
    messagingAudience: config.messagingAudience,
    liveness: createLiveness(db),
    revocations: feeds.revocations.feed,
    log,
    metrics,
    tracer: tracing.tracer,
    hasReflection: config.profile === "development",
    tls: tls && { cert: readFileSync(tls.certFile, "utf8"), key: readFileSync(tls.keyFile, "utf8") },
    trustedHops: config.trustedHops,
    callLimitMs: 30_000,
    idleGraceMs: 1_000,
    readiness: readinessOf(db, deps),
    completeness: siblings ? { workers: siblings.areComplete } : {},
    console: consoleOf(config, messaging.development.issuerRootKey),
  })
}

function consoleOf(config: Config, rootKey: Uint8Array | null): ConsoleSettings | null {
  const isDevelopment = config.profile === "development"
  const appId = config.consoleAppId ?? (isDevelopment ? developmentAppId : null)
  if (appId === null) return null
  const issuerRootKey = rootKey && Buffer.from(rootKey).toString("base64url")
  const { issuer, authAudience, messagingAudience, consoleBackend: secondBackend } = config
  return { appId, isDevelopment, issuer, authAudience, messagingAudience, issuerRootKey, secondBackend }
}

type App = Awaited<ReturnType<typeof openApp>>

/** Adds what the development profile has. */
async function addDevelopment(
  { config }: Start,
  { store, secrets }: Storage,
  { deps, messaging, app }: { deps: Deps; messaging: OpenMessaging; app: App },
): Promise<void> {
  // Loaded only here: production loads no stand-in provider.
  const development = await import("@signet/development/profile")
  await development.addDevelopment(app, {
    ...config,
    origin: config.issuer,
    clock,
    store,
    secrets,
    createAdministrator: () => createAdministrator(deps, { name: "Developer", hours: 24, another: true }),
    inviteAdministrator: createAdministratorInvitations(deps),
    addMessagingBackend: messaging.development.addMessagingBackend,
  })
}

async function listen(
  { config, siblings, metrics, onFault, onClose }: Start,
  app: App,
): Promise<Pick<Program, "url" | "adminUrl">> {
  const adminUrl = await serveMetrics({ config, siblings, metrics, onFault, onClose })
  onClose(() => app.close())
  await app.listen({ host: config.host, port: config.port, listenTextResolver: () => "listening" })
  return { url: urlOf(config, app.server.address() as AddressInfo), adminUrl }
}

/** Imported lazily: two hundred modules that are needed only for tracing. */
async function exporterTo(url: string): Promise<SpanExporter> {
  const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-http")
  return new OTLPTraceExporter({ url })
}

function urlOf(config: Config, { address, port, family }: AddressInfo): string {
  const host = family === "IPv6" ? `[${address}]` : address
  return `${config.tls ? "https" : "http"}://${host}:${port}`
}
