// The server program: database, keys, providers and listeners, started in order and stopped in reverse.
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import type { AddressInfo } from "node:net"
import type { SpanExporter } from "@opentelemetry/sdk-trace"
import { createRefusedMemory } from "@signet/kernel/limits/refused-memory"
import type { Clock, Random } from "@signet/kernel/ports"
import type { FastifyBaseLogger } from "fastify"
import { createKeyRing } from "../keys/key-ring.ts"
import { createIdpA } from "../providers/idp-a.ts"
import { createIdpB } from "../providers/idp-b.ts"
import { createIdpC } from "../providers/idp-c.ts"
import { eraseDue } from "../rpc/account/erase-due.ts"
import { createAdministrator } from "../rpc/admin/create-administrator.ts"
import { endDueLocks } from "../rpc/admin/end-due-locks.ts"
import { appendTo, createRefusalAudit } from "../rpc/audit/refusals.ts"
import { createBackground } from "../rpc/background.ts"
import type { Deps } from "../rpc/deps.ts"
import { createAuditWriting } from "../store/postgres/audit/audit-writing.ts"
import { createIssuerKeyStore } from "../store/postgres/keys/issuer-keys.ts"
import { createReceiptKeyStore } from "../store/postgres/keys/receipt-keys.ts"
import { createSigningKeys } from "../store/postgres/keys/signing-keys.ts"
import { endedUsers } from "../store/postgres/messaging/ended-users.ts"
import { missedHints } from "../store/postgres/messaging/missed.ts"
import { createMoving } from "../store/postgres/messaging/moving/moving.ts"
import { createMessagingStore } from "../store/postgres/messaging/store.ts"
import { sweepMessaging } from "../store/postgres/messaging/sweep.ts"
import { migrate } from "../store/postgres/migrate.ts"
import { createLiveness } from "../store/postgres/session/liveness.ts"
import { createStore } from "../store/postgres/store.ts"
import { sweep } from "../store/postgres/sweep.ts"
import { createRevocationLog } from "../store/postgres/token/revocation-log.ts"
import { createWakeups } from "../wakeups/wakeups.ts"
import { type AddedBackend, addDevelopmentBackend } from "./add-backend.ts"
import { createAdmin } from "./admin.ts"
import { createApp } from "./app.ts"
import { startAuditChainer, startCheckpoints } from "./audit-chainer.ts"
import type { Config } from "./config.ts"
import { developmentAdmin } from "./development/admin.ts"
import { partner } from "./development/app.ts"
import { developmentBackend } from "./development/backend.ts"
import { createDevelopmentIdp } from "./development/idp.ts"
import { createDevelopmentIdpB } from "./development/idp-b.ts"
import { createDevelopmentIdpC } from "./development/idp-c.ts"
import { developmentPlugin } from "./development/plugin.ts"
import { refuseDevelopmentData, seedDevelopment } from "./development/seed.ts"
import { every } from "./every.ts"
import { developmentKeySet, keySetFile } from "./issuer-key-set.ts"
import { auditKeyChanges } from "./key-changes.ts"
import { startMessaging } from "./messaging.ts"
import { createMetrics } from "./metrics.ts"
import { openBlobs } from "./open-blobs.ts"
import { openDatabase } from "./open-database.ts"
import { followSealingKeys, openSecrets } from "./open-secrets.ts"
import { startRevocations } from "./revocations.ts"
import { startTracing } from "./tracing.ts"

export interface Program {
  /** Where the public server listens. */
  readonly url: string
  /** Where metrics are: loopback. */
  readonly adminUrl: string
  readonly deps: Deps
  /** The public half of the development profile's root, which messaging clients pin; null in production. */
  readonly issuerRootKey: Uint8Array | null
  /** Lets a messaging backend beside this server be one, by its public receipt key; null in production. */
  readonly addMessagingBackend: ((receiptKey: Uint8Array) => Promise<AddedBackend>) | null
  /** Ends streams, drains calls, lets go of the database. */
  close(): Promise<void>
}

const clock: Clock = { nowMs: () => Date.now() }
const random: Random = { bytes: (length) => randomBytes(length) }

/** How often this process looks whether another rotated the signing keys. */
const keyTickMs = 10_000
const sweepEveryMs = 60_000
const eraseEveryMs = 60_000
/** How late a lock of a principal may end. */
const locksEveryMs = 1_000

export async function startProgram(config: Config, log: FastifyBaseLogger): Promise<Program> {
  const onFault = (fault: unknown) => log.error({ err: fault }, "fault")
  const database = await openDatabase(config, onFault)
  const closing: (() => Promise<void> | void)[] = [() => database.close()]
  const close = async () => {
    while (closing.length > 0) await closing.pop()?.()
  }
  try {
    const applied = await migrate(database.db)
    if (applied.length > 0) log.info({ migrations: applied }, "migrated")
    const opened = await openSecrets(database.db, config)
    const { secrets, seals } = opened
    const sealing = await followSealingKeys(database.db, opened, clock.nowMs())
    closing.push(() => sealing.close())
    closing.push(every(keyTickMs, sealing.tick, onFault))
    const chainer = startAuditChainer({ db: database.db, seals, clock, onFault })
    closing.push(() => chainer.close())
    const audit = createAuditWriting(seals, chainer.wake)
    let onRevoked = () => {}
    const revoking = { audit, onRevoked: () => onRevoked() }
    const store = createStore(database.db, revoking)
    const keys = createKeyRing({ signingKeys: createSigningKeys(database.db, revoking.onRevoked), secrets, clock })
    const recordKeys = auditKeyChanges({ store, clock, random })
    await recordKeys(await keys.start())
    closing.push(every(keyTickMs, async () => recordKeys(await keys.tick()), onFault))
    const { issuer, auditCheckpointSeconds: everySeconds } = config
    const checkpoints = { db: database.db, writing: audit, keys, clock, random, issuer, everySeconds }
    closing.push(startCheckpoints(checkpoints, onFault))
    const metrics = createMetrics()
    const { swept } = metrics
    closing.push(
      every(
        sweepEveryMs,
        swept("accounts", () => sweep(database.db, clock.nowMs())),
        onFault,
      ),
    )
    closing.push(
      every(
        sweepEveryMs,
        swept("messaging", () => sweepMessaging(database.db, clock.nowMs())),
        onFault,
      ),
    )

    const isLoopbackAllowed = config.profile === "development"
    const idpB = createIdpB({ clock, secrets, isLoopbackAllowed })
    const background = createBackground((fault) => log.warn({ err: fault }, "sending a magic link failed"))
    closing.push(() => background.settled())
    const refusals = createRefusalAudit({ append: appendTo(store), clock, random }, onFault)
    closing.push(() => refusals.flush(Number.POSITIVE_INFINITY))
    closing.push(every(sweepEveryMs, () => refusals.flush(), onFault))
    const deps: Deps = {
      store,
      keys,
      secrets,
      clock,
      random,
      limiter: config.limits && {
        limits: config.limits,
        memory: createRefusedMemory(),
        onRefused: metrics.onLimited,
      },
      refusals,
      providers: { IDP_A: createIdpA({ clock, secrets, isLoopbackAllowed }), IDP_B: idpB },
      notificationReaders: { IDP_B: idpB },
      emailProviders: {
        IDP_C: createIdpC({
          clock,
          secrets,
          isLoopbackAllowed,
          report: (fault) => log.warn({ err: fault }, "IDP_C"),
        }),
      },
      background,
      issuer: config.issuer,
      authAudience: config.authAudience,
      accessTokenSeconds: config.accessTokenSeconds,
      isLoopbackAllowed,
    }
    closing.push(every(eraseEveryMs, () => eraseDue(deps, onFault), onFault))
    closing.push(every(locksEveryMs, () => endDueLocks(deps, onFault), onFault))
    const developmentRoot =
      config.profile === "development" ? developmentKeySet(config.dataFolder, config.issuer, clock) : null
    const { databaseUrl } = config
    const origin = Buffer.from(random.bytes(8)).toString("hex")
    const wakeups = createWakeups({
      others: databaseUrl === null ? null : { databaseUrl, origin, missed: missedHints(database.db) },
      onError: onFault,
    })
    closing.push(() => wakeups.close())
    const revocations = startRevocations({ log: createRevocationLog(database.db), deps, wakeups, onFault })
    closing.push(() => revocations.stop())
    onRevoked = revocations.committed
    const receiptKeys = createReceiptKeyStore(database.db)
    const messaging = await startMessaging({
      accounts: deps,
      store: createMessagingStore(database.db, revoking),
      issuerKeyStore: createIssuerKeyStore(database.db),
      receiptKeys,
      loadKeySet: developmentRoot ?? keySetFile(config.issuerKeySetFile),
      wakeups,
      blobs: await openBlobs(config.blobs, clock),
      leavesPerConversation: config.leavesPerConversation,
      endedUsers: (limit) => endedUsers(database.db, limit),
      onFault,
    })
    closing.push(() => messaging.stop())
    if (messaging.issuerKeys.keySet() === undefined)
      log.warn("messaging is not available: no issuer key set is configured")
    metrics.watch({ connections: database.connections, feedLagMs: revocations.feed.lagMs })
    const tracing = startTracing(
      config.traceEndpoint === null ? undefined : { exporter: await exporterTo(config.traceEndpoint) },
    )
    closing.push(() => tracing.stop())
    const app = await createApp({
      deps,
      messaging: messaging.deps,
      moving: createMoving(database.db, revoking),
      messagingAudience: config.messagingAudience,
      liveness: createLiveness(database.db),
      revocations: revocations.feed,
      log,
      metrics,
      tracer: tracing.tracer,
      hasReflection: config.profile === "development",
      tls: config.tls && {
        cert: readFileSync(config.tls.certFile, "utf8"),
        key: readFileSync(config.tls.keyFile, "utf8"),
      },
      trustedHops: config.trustedHops,
      callLimitMs: 30_000,
    })
    const addMessagingBackend =
      developmentRoot &&
      ((receiptKey: Uint8Array) => {
        const { messagingAudience } = config
        const of = { deps, messagingAudience, receiptKeys, issuerKeys: messaging.issuerKeys }
        return addDevelopmentBackend({ ...of, issuerRootKey: developmentRoot.rootKey }, receiptKey)
      })
    if (config.profile === "development") {
      const standIn = { profile: config.profile, origin: () => config.issuer, clock }
      const idp = createDevelopmentIdp(standIn)
      const partnerIdp = createDevelopmentIdp({ ...standIn, of: partner })
      const idpB = createDevelopmentIdpB(standIn)
      const idpC = createDevelopmentIdpC(standIn)
      for (const one of [idp, partnerIdp, idpB, idpC]) await app.register(developmentPlugin, { idp: one })
      const administrator = { name: "Developer", hours: 24, another: true }
      await app.register(developmentAdmin, { create: () => createAdministrator(deps, administrator) })
      if (addMessagingBackend) await app.register(developmentBackend, { add: addMessagingBackend })
      const { authAudience, messagingAudience } = config
      await seedDevelopment({ store, secrets, idp, partnerIdp, idpB, idpC, authAudience, messagingAudience })
    } else await refuseDevelopmentData(store)
    const issuerRootKey = developmentRoot?.rootKey ?? null
    const admin = createAdmin(metrics.registry)
    closing.push(() => admin.close())
    const adminUrl = await admin.listen({ host: "127.0.0.1", port: config.adminPort })
    closing.push(() => app.close())
    await app.listen({ host: config.host, port: config.port, listenTextResolver: () => "listening" })
    return {
      url: urlOf(config, app.server.address() as AddressInfo),
      adminUrl,
      deps,
      issuerRootKey,
      addMessagingBackend,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Two hundred modules, which are not loaded where no spans are sent. */
async function exporterTo(url: string): Promise<SpanExporter> {
  const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-http")
  return new OTLPTraceExporter({ url })
}

function urlOf(config: Config, { address, port, family }: AddressInfo): string {
  const host = family === "IPv6" ? `[${address}]` : address
  return `${config.tls ? "https" : "http"}://${host}:${port}`
}
