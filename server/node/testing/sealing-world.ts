// A database with sealed values, and servers on it whose sealing key rotates.
import { randomBytes } from "node:crypto"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { newId } from "@signet/kernel/ids"
import { issuerPurposes } from "@signet/kernel/keys/issuer-keys"
import {
  clientSecretLabel,
  issuerKeyLabel,
  providerTokenLabel,
  tokenSecretLabel,
} from "@signet/kernel/keys/sealed-columns"
import { app, providerClient } from "@signet/kernel/testing/records"
import { afterEach, expect } from "vitest"
import { createTestDatabase } from "../../../test/support/postgres.ts"
import { createKeyRing } from "../../keys/key-ring.ts"
import { openCheckpoint } from "../../keys/statement.ts"
import { linkPending } from "../../store/postgres/audit/audit-chain.ts"
import { createAuditLogDeps } from "../../store/postgres/audit/audit-log-deps.ts"
import { verifyAudit } from "../../store/postgres/audit/audit-verify.ts"
import { listSealingKeys } from "../../store/postgres/keys/sealing-keys.ts"
import { createSigningKeys } from "../../store/postgres/keys/signing-keys.ts"
import { openPostgres } from "../../store/postgres/open.ts"
import { type Database, run } from "../../store/postgres/sql.ts"
import { createStore } from "../../store/postgres/store.ts"
import { sealingKeys } from "../admin/sealing-keys.ts"
import { checkpointWhenDue } from "../audit-chainer.ts"
import { parseConfig } from "../config.ts"
import { every } from "../every.ts"
import { followSealingKeys, openSecrets } from "../open-secrets.ts"

const clock = { nowMs: () => Date.now() }
const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) }
export const oldKey = new Uint8Array(32).fill(5)
export const newKey = new Uint8Array(32).fill(6)
export const otherKey = new Uint8Array(32).fill(7)
const pepper = Buffer.alloc(32, 1).toString("base64")
const base64 = (key: Uint8Array) => Buffer.from(key).toString("base64")
const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString()

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A database with data from a server with the old key, and operations on it. */
export async function startWorld() {
  const database = await createTestDatabase()
  closing.push(database.drop)
  const { db, close } = openPostgres(database.url, { maxConnections: 6 })
  closing.push(close)
  const configOf = (key: Uint8Array, next?: Uint8Array) =>
    parseConfig({
      SIGNET_PROFILE: "development",
      DATABASE_URL: database.url,
      DATABASE_CONNECTIONS: "4",
      SIGNET_SEALING_KEY: base64(key),
      SIGNET_PEPPERS: `1:${pepper}`,
      ...(next && { SIGNET_SEALING_KEY_NEXT: base64(next) }),
    })
  const command = (verb: string, key: Uint8Array, next?: Uint8Array) => sealingKeys([verb], configOf(key, next))
  const first = await startServer(db, configOf(oldKey))
  await first.write("one")
  return {
    db,
    command,
    first,
    start: (key: Uint8Array, next?: Uint8Array) => startServer(db, configOf(key, next)),
    open: (key: Uint8Array, next?: Uint8Array) => openSecrets(db, configOf(key, next)),
    verify: async (key: Uint8Array, next?: Uint8Array) => {
      const { seals } = await openSecrets(db, configOf(key, next))
      const jwks = (await createSigningKeys(db).list()).map(({ publicJwk }) => publicJwk)
      const options = { nowMs: Date.now(), patienceMs: 60_000, kept: new Map<bigint, string>() }
      const { flaws } = await verifyAudit(db, { seals, ...options, open: (jws) => openCheckpoint(jws, jwks) })
      return flaws.map(({ what }) => what)
    },
  }
}

type World = Awaited<ReturnType<typeof startWorld>>

const clientOf = (name: string) => ({
  ...providerClient,
  id: idOf("pcl", name),
  appId: idOf("app", name),
  clientId: name,
})
export const idOf = <Kind extends "app" | "pcl" | "pac" | "idn">(kind: Kind, name: string) =>
  newId(kind, 1, new Uint8Array(Buffer.from(name.padEnd(10, "-"))))

/** The parts of a server that seal, open and stamp. */
async function startServer(db: Database, config: ReturnType<typeof parseConfig>) {
  const opened = await openSecrets(db, config)
  const follow = await followSealingKeys(db, opened, clock.nowMs())
  const { secrets, seals } = opened
  const faults: unknown[] = []
  const stopTicking = every(50, follow.tick, (fault) => faults.push(fault))
  const close = async () => {
    await stopTicking()
    await follow.close()
  }
  closing.push(close)
  const ring = createKeyRing({ signingKeys: createSigningKeys(db), secrets, clock })
  await ring.start()
  const writing = createAuditLogDeps(seals)
  const store = createStore(db, { audit: writing })
  const options = { db, writing, keys: ring, clock, random, issuer: "https://auth.example", everySeconds: 0 }
  const link = () => linkPending(db, seals, clock.nowMs)
  const checkpoint = checkpointWhenDue(options)

  return {
    opened,
    faults,
    ring,
    link,
    checkpoint,
    close,
    /** Writes a value of every sealed column, and an event with an address. */
    async write(name: string) {
      const [client, account, identity] = [idOf("pcl", name), idOf("pac", name), idOf("idn", name)]
      const seal = (of: Parameters<typeof secrets.seal>[0]) => secrets.seal(of, Buffer.from(`secret of ${name}`))
      await store.transaction(async (tx) => {
        await tx.apps.putApp({ ...app, id: idOf("app", name) })
        await tx.apps.putProviderClient({
          ...clientOf(name),
          clientSecretSealed: seal(clientSecretLabel(client)),
          tokenSecretSealed: seal(tokenSecretLabel(client)),
        })
        await tx.audit.append(eventOf(name))
      })
      await run(db, "insert into identity values ($1, 'ACTIVE', null, now(), now())", [identity])
      await run(
        db,
        `insert into provider_account (id, identity_id, provider, issuer, subject, status, created_at, refresh_token_sealed)
        values ($1, $2, 'IDP_B', 'https://b.example', $3, 'LINKED', now(), $4)`,
        [account, identity, name, Buffer.from(seal(providerTokenLabel(account)))],
      )
      const generation = (await run(db, "select 1 from issuer_key", [])).length + 1
      const issuerKey = { purpose: issuerPurposes[0], generation }
      await run(db, "insert into issuer_key values ($1, $2, $3, $4, now())", [
        ...[issuerKey.purpose, generation, randomBytes(32)],
        Buffer.from(seal(issuerKeyLabel(issuerKey))),
      ])
      await link()
    },
    /** True if this server reads the values that another one wrote. */
    async reads(name: string) {
      const [client, account] = [idOf("pcl", name), idOf("pac", name)]
      const [row] = await run<{ a: Uint8Array; b: Uint8Array }>(
        db,
        "select client_secret_sealed as a, token_secret_sealed as b from provider_client where id = $1",
        [client],
      )
      const [kept] = await run<{ a: Uint8Array }>(
        db,
        "select refresh_token_sealed as a from provider_account where id = $1",
        [account],
      )
      const { events } = await store.transaction(async (tx) => ({
        events: await tx.audit.list(everything, { size: 100, before: null }),
      }))
      const empty = new Uint8Array()
      const values = [
        text(secrets.open(clientSecretLabel(client), row?.a ?? empty)),
        text(secrets.open(tokenSecretLabel(client), row?.b ?? empty)),
        text(secrets.open(providerTokenLabel(account), kept?.a ?? empty)),
        events.find(({ target }) => target?.id === name)?.request.ipTruncated,
      ]
      await ring.tick()
      return values
    },
  }
}

export const all = (name: string) => [...Array.from({ length: 3 }, () => `secret of ${name}`), "192.0.2.0/24"]

const everything = {
  ...{ appId: null, tenantId: null, contextId: null, kinds: [], principalId: null, outcome: null },
  ...{ targetType: null, targetId: null, fromMs: null, untilMs: null },
}

export const eventOf = (name: string): AuditEvent => ({
  id: newId("aud", Date.now(), random.bytes(10)),
  occurredAtMs: Date.now(),
  kind: "login.failed",
  outcome: "FAILURE",
  ...{ reason: null, appId: null, tenantId: null, contextId: null, actorPrincipalId: null, sessionId: null },
  ...{ subjectPrincipalId: null, subjectIdentityId: idOf("idn", name), target: { type: "x", id: name } },
  request: { id: "", route: "", ipTruncated: "192.0.2.0/24" },
})

export const rows = async (db: Database) => ({
  keys: await listSealingKeys(db),
  clients: await run(db, "select * from provider_client order by id", []),
  dataKeys: await run(db, "select * from audit_data_key order by owner", []),
  signing: await run(db, "select * from signing_key order by kid", []),
})

/** Completes a rotation: replaces the old servers as docs/how-to/rotate-secrets.md describes. */
export async function rotated(world: World) {
  await world.first.close()
  const both = await world.start(oldKey, newKey)
  await world.command("rotate", oldKey, newKey)
  await both.close()
  const after = await world.start(newKey)
  await world.command("finish", newKey)
  // A server accepts stamps of the old key until its next tick.
  await expect.poll(() => after.opened.sealing.stampKeys().some(({ until }) => until !== null)).toBe(true)
  return after
}
