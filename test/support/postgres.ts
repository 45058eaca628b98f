// Stores for tests: PGlite in memory, and real PostgreSQL for races. Each call returns an empty database.
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdirSync, openAsBlob } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import type { Liveness } from "@signet/kernel/authz/liveness-ports"
import type { SigningKeys } from "@signet/kernel/keys/ports"
import type { PlaceMoves } from "@signet/kernel/messaging/moving"
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { Store } from "@signet/kernel/ports"
import type { RevocationLog } from "@signet/kernel/revocation/ports"
import { CompiledQuery, type IsolationLevel } from "kysely"
import { describe, inject } from "vitest"
import { createSigningKeys } from "../../server/store/postgres/keys/signing-keys.ts"
import { createMoving } from "../../server/store/postgres/messaging/moving/moving.ts"
import { createMessagingStore } from "../../server/store/postgres/messaging/store.ts"
import { type OpenDatabase, type OpenOptions, openPostgres } from "../../server/store/postgres/open.ts"
import { openMemoryPglite } from "../../server/store/postgres/pglite/open.ts"
import { createLiveness } from "../../server/store/postgres/session/liveness.ts"
import type { Database } from "../../server/store/postgres/sql.ts"
import { createStore } from "../../server/store/postgres/store.ts"
import { createRevocationLog } from "../../server/store/postgres/token/revocation-log.ts"
import { testAuditLogDeps } from "./audit-log-deps.ts"
import { effort } from "./effort.ts"
import type { PgliteAnswer, PostgresAnswer } from "./postgres-setup.ts"

export type StoreKind = "pglite" | "postgres"

export interface TestStore {
  store: Store
  messaging: MessagingStore
  moving: PlaceMoves
  liveness: Liveness
  signingKeys: SigningKeys
  revocationLog: RevocationLog
  /** Called after revocations were committed. */
  onRevoked: Set<() => void>
  db: Database
  /** Of PostgreSQL: for programs that share the store. */
  databaseUrl?: string
  close(): Promise<void>
}

const postgres = await ask<PostgresAnswer>("/postgres")

/** Why there is no PostgreSQL for tests; undefined if there is one. */
export const noPostgres: string | undefined = "missing" in postgres ? postgres.missing : undefined

/**
 * Runs the suite on PostgreSQL (visibly skipped if there is none), and on PGlite if there is none or in the longer
 * form.
 */
export function describeOnEachStore(name: string, suite: (kind: StoreKind) => void): void {
  if (effort(noPostgres !== undefined, true, true)) describe(`${name} (PGlite)`, () => suite("pglite"))
  describeOnPostgres(name, () => suite("postgres"))
}

/** Runs a story on PostgreSQL; on PGlite only at night or without PostgreSQL. */
export function describeStory(name: string, story: (kind: StoreKind) => void): void {
  if (effort(noPostgres !== undefined, noPostgres !== undefined, true))
    describe(`${name} (PGlite)`, () => story("pglite"))
  describeOnPostgres(name, () => story("postgres"))
}

/** The store of a story that runs once: PostgreSQL if there is one, because it starts fifty times faster. */
export const storyStore: StoreKind = effort(noPostgres, noPostgres, "at night") === undefined ? "postgres" : "pglite"

/** Runs the suite on PostgreSQL only, for concurrent transactions, which PGlite does not have. */
export function describeOnPostgres(name: string, suite: () => void): void {
  const title = noPostgres === undefined ? `${name} (PostgreSQL)` : `${name} (PostgreSQL: skipped, ${noPostgres})`
  describe.skipIf(noPostgres !== undefined)(title, suite)
}

/**
 * @param options.isolationLevel Isolation level of the store's transactions. @param options.maxConnections For
 * PostgreSQL.
 */
export async function openTestStore(
  kind: StoreKind,
  options: { isolationLevel?: IsolationLevel; maxConnections?: number; statementSeconds?: number } = {},
): Promise<TestStore> {
  const { db, close, databaseUrl } =
    kind === "pglite" ? { ...(await openPgliteCopy()), databaseUrl: undefined } : await openPostgresCopy(options)
  const audit = testAuditLogDeps()
  const listeners = new Set<() => void>()
  const onRevoked = () => {
    for (const listener of listeners) listener()
  }
  return {
    db,
    ...(databaseUrl !== undefined && { databaseUrl }),
    store: createStore(db, { ...options, audit, onRevoked }),
    messaging: createMessagingStore(db, { ...options, audit, onRevoked }),
    moving: createMoving(db, { ...options, audit, onRevoked }),
    revocationLog: createRevocationLog(db),
    onRevoked: listeners,
    liveness: createLiveness(db),
    signingKeys: createSigningKeys(db, onRevoked),
    close,
  }
}

async function openPgliteCopy(): Promise<OpenDatabase> {
  const { dump } = await ask<PgliteAnswer>("/pglite")
  return openMemoryPglite(await openAsBlob(dump))
}

async function openPostgresCopy(options: OpenOptions): Promise<OpenDatabase & { databaseUrl: string }> {
  const database = await createTestDatabase()
  const { maxConnections = 10, statementSeconds } = options
  const opened = openPostgres(database.socketUrl, { maxConnections, ...(statementSeconds && { statementSeconds }) })
  return {
    db: opened.db,
    connections: opened.connections,
    databaseUrl: database.url,
    async close() {
      await opened.close()
      await database.drop()
    },
  }
}

export interface TestDatabase {
  /** For programs that take a DATABASE_URL. */
  url: string
  /** The same by Unix socket if the tests started the server. */
  socketUrl: string
  drop(): Promise<void>
}

/** Creates a separate database on the test server. Migrated by default. */
export async function createTestDatabase({ migrated = true } = {}): Promise<TestDatabase> {
  if ("missing" in postgres) throw new Error(postgres.missing)
  const name = `signet_test_${randomUUID().replaceAll("-", "")}`
  const admin = openPostgres(postgres.socketUrl, { maxConnections: 1 })
  // Copying files is faster here, and does not write the whole copy to the log.
  const from = migrated ? ` template ${postgres.template} strategy file_copy` : ""
  await admin.db.executeQuery(CompiledQuery.raw(`create database ${name}${from}`))
  const named = (server: string) => {
    const url = new URL(server)
    url.pathname = `/${name}`
    return url.href
  }
  return {
    url: named(postgres.url),
    socketUrl: named(postgres.socketUrl),
    async drop() {
      await admin.db.executeQuery(CompiledQuery.raw(`drop database if exists ${name} with (force)`))
      await admin.close()
    },
  }
}

/** A database for a program: PostgreSQL if there is one, else PGlite in its data folder. */
export async function programDatabase(): Promise<{ settings: Record<string, string>; drop(): Promise<void> }> {
  if (noPostgres !== undefined) return { settings: {}, drop: async () => undefined }
  const { url, drop } = await createTestDatabase()
  return { settings: { SIGNET_PROFILE: "development", DATABASE_URL: url }, drop }
}

/** Copies a migrated PGlite into a program's data folder, because its first start takes seconds. */
export async function givePglite(dataFolder: string): Promise<void> {
  const { dump } = await ask<PgliteAnswer>("/pglite")
  const folder = join(dataFolder, "pglite")
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  await promisify(execFile)("tar", ["-xf", dump, "-C", folder])
}

async function ask<Answer>(path: string): Promise<Answer> {
  const response = await fetch(`${inject("databases")}${path}`)
  if (!response.ok) throw new Error(`no database: ${await response.text()}`)
  return (await response.json()) as Answer
}
