// Rotation of the sealing key while servers run, and attacks during and after it.
import { randomBytes } from "node:crypto"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { sealRow } from "@signet/kernel/audit/row"
import { newId } from "@signet/kernel/ids"
import { issuerPurposes } from "@signet/kernel/keys/issuer-keys"
import {
  clientSecretLabel,
  dataKeyLabel,
  issuerKeyLabel,
  providerTokenLabel,
  sealedColumns,
  sealedElsewhere,
  tokenSecretLabel,
} from "@signet/kernel/keys/sealed-columns"
import { app, providerClient } from "@signet/kernel/testing/records"
import { CompiledQuery } from "kysely"
import { afterEach, expect, test, vi } from "vitest"
import { createTestDatabase, describeOnPostgres } from "../../../test/support/postgres.ts"
import { createAuditSeals } from "../../keys/audit-seals.ts"
import { createKeyRing } from "../../keys/key-ring.ts"
import { createSecrets } from "../../keys/secrets.ts"
import { openCheckpoint } from "../../keys/statement.ts"
import { linkPending } from "../../store/postgres/audit/audit-chain.ts"
import { createAuditLogDeps } from "../../store/postgres/audit/audit-log-deps.ts"
import { toAuditRow } from "../../store/postgres/audit/audit-row.ts"
import { verifyAudit } from "../../store/postgres/audit/audit-verify.ts"
import { resealAll } from "../../store/postgres/keys/reseal.ts"
import { holdSealingKeys, listSealingKeys } from "../../store/postgres/keys/sealing-keys.ts"
import { createSigningKeys } from "../../store/postgres/keys/signing-keys.ts"
import { openPostgres } from "../../store/postgres/open.ts"
import { type Database, run } from "../../store/postgres/sql.ts"
import { createStore } from "../../store/postgres/store.ts"
import { checkpointWhenDue } from "../audit-chainer.ts"
import { parseConfig } from "../config.ts"
import { every } from "../every.ts"
import { followSealingKeys, openSecrets } from "../open-secrets.ts"
import { sealingKeys } from "./sealing-keys.ts"

vi.setConfig({ testTimeout: 120_000 })

const clock = { nowMs: () => Date.now() }
const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) }
const oldKey = new Uint8Array(32).fill(5)
const newKey = new Uint8Array(32).fill(6)
const otherKey = new Uint8Array(32).fill(7)
const pepper = Buffer.alloc(32, 1).toString("base64")
const base64 = (key: Uint8Array) => Buffer.from(key).toString("base64")
const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString()

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A database with data from a server with the old key, and operations on it. */
async function startWorld() {
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
const idOf = <Kind extends "app" | "pcl" | "pac" | "idn">(kind: Kind, name: string) =>
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

const all = (name: string) => [...Array.from({ length: 3 }, () => `secret of ${name}`), "192.0.2.0/24"]

const everything = {
  ...{ appId: null, tenantId: null, contextId: null, kinds: [], principalId: null, outcome: null },
  ...{ targetType: null, targetId: null, fromMs: null, untilMs: null },
}

const eventOf = (name: string): AuditEvent => ({
  id: newId("aud", Date.now(), random.bytes(10)),
  occurredAtMs: Date.now(),
  kind: "login.failed",
  outcome: "FAILURE",
  ...{ reason: null, appId: null, tenantId: null, contextId: null, actorPrincipalId: null, sessionId: null },
  ...{ subjectPrincipalId: null, subjectIdentityId: idOf("idn", name), target: { type: "x", id: name } },
  request: { id: "", route: "", ipTruncated: "192.0.2.0/24" },
})

const rows = async (db: Database) => ({
  keys: await listSealingKeys(db),
  clients: await run(db, "select * from provider_client order by id", []),
  dataKeys: await run(db, "select * from audit_data_key order by owner", []),
  signing: await run(db, "select * from signing_key order by kid", []),
})

/** Completes a rotation: replaces the old servers as docs/how-to/rotate-secrets.md describes. */
async function rotated(world: World) {
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

describeOnPostgres("a rotation of the sealing key", () => {
  test("works with every configuration of servers during its steps, and the audit log stays valid", async () => {
    const world = await startWorld()
    expect(await world.verify(oldKey)).toEqual([])

    // During the first restart one server has the new key and one does not.
    const both = await world.start(oldKey, newKey)
    await both.write("two")
    await world.first.write("three")
    for (const server of [world.first, both]) {
      for (const name of ["one", "two", "three"]) expect(await server.reads(name)).toEqual(all(name))
    }
    await expect(world.command("rotate", oldKey, newKey)).rejects.toThrow("1 running servers do not have the new key")
    await world.first.close()

    const second = await world.start(oldKey, newKey)
    const [said] = await Promise.all([world.command("rotate", oldKey, newKey), second.write("four")])
    expect(said.json).toMatchObject({ to: second.opened.sealing.heldIds[1] })
    expect(second.opened.sealing.sealsWith()).toBe(second.opened.sealing.heldIds[1])
    await both.checkpoint()
    expect(await world.verify(oldKey, newKey)).toEqual([])

    // During the second restart one server has only the new key.
    const only = await world.start(newKey)
    await only.write("five")
    await both.write("six")
    for (const server of [both, only]) {
      for (const name of ["one", "four", "five", "six"]) expect(await server.reads(name)).toEqual(all(name))
    }
    expect(await world.verify(newKey)).toEqual([])
    await expect(world.command("finish", newKey)).rejects.toThrow("2 running servers still use the previous key")
    await both.close()
    await second.close()

    await world.command("finish", newKey)
    await only.write("seven")
    await only.checkpoint()
    expect(await only.reads("one")).toEqual(all("one"))
    expect(await world.verify(newKey)).toEqual([])
    expect((await world.command("list", newKey)).json).toEqual(
      expect.objectContaining({ underAnotherKey: 0, unopened: {} }),
    )
    for (const server of [both, second, only]) expect(server.faults).toEqual([])
  })

  test("re-seals values of a transaction that sealed before it and commits after it", async () => {
    const world = await startWorld()
    await world.first.close()
    const both = await world.start(oldKey, newKey)
    const [sealed, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const [account, identity] = [idOf("pac", "late"), idOf("idn", "late")]
    const writing = world.db.transaction().execute(async (trx) => {
      const value = both.opened.secrets.seal(providerTokenLabel(account), Buffer.from("late"))
      await run(trx, "insert into identity values ($1, 'ACTIVE', null, now(), now())", [identity])
      await run(
        trx,
        `insert into provider_account (id, identity_id, provider, issuer, subject, status, created_at, refresh_token_sealed)
        values ($1, $2, 'IDP_B', 'https://b.example', 'late', 'LINKED', now(), $3)`,
        [account, identity, Buffer.from(value)],
      )
      sealed.resolve()
      await held.promise
    })
    await sealed.promise
    let hasEnded = false
    const rotation = world.command("rotate", oldKey, newKey).finally(() => {
      hasEnded = true
    })
    const waitingText = "select from pg_stat_activity where query like $1 and datname = current_database()"
    const isWaiting = async () => (await run(world.db, waitingText, ["select virtualxid%"])).length > 0
    await expect.poll(async () => hasEnded || (await isWaiting()), { timeout: 60_000 }).toBe(true)
    held.resolve()
    await Promise.all([writing, rotation])
    const { json } = await world.command("list", newKey)
    expect(json).toEqual(expect.objectContaining({ underAnotherKey: 0, unopened: {} }))
  })

  test("continues after a kill, and a half re-sealed table stays readable", async () => {
    const world = await startWorld()
    for (let i = 0; i < 5; i++) await world.first.write(`row-${i}`)
    await world.first.close()
    const both = await world.start(oldKey, newKey)
    // The command switches the key and is killed during its first pass.
    const { sealing } = await world.open(oldKey, newKey)
    const [from = "", to = ""] = sealing.heldIds
    await world.db.transaction().execute(async (trx) => {
      const stamp = sealing.sealStampKey({ id: from, to, status: "PREVIOUS", until: null })
      await run(trx, "update sealing_key set status = 'PREVIOUS', stamp_sealed = $1", [Buffer.from(stamp)])
      await run(trx, "insert into sealing_key (id, status, created_at) values ($1, 'CURRENT', now())", [to])
    })
    sealing.follow(await listSealingKeys(world.db))
    let count = 0
    const killed = resealAll(world.db, ({ scheme, label }, sealed) => {
      count += 1
      if (count === 10) throw new Error("killed")
      return sealing.reseal(scheme, label, sealed)
    })
    await expect(killed).rejects.toThrow("killed")
    const half = (await world.command("list", oldKey, newKey)).json as { values: number; underAnotherKey: number }
    expect(half.underAnotherKey).toBeGreaterThan(0)
    expect(half.underAnotherKey).toBeLessThan(half.values)

    await expect.poll(() => both.opened.sealing.sealsWith()).toBe(to)
    for (const name of ["one", "row-0", "row-4"]) expect(await both.reads(name)).toEqual(all(name))
    expect(await world.verify(oldKey, newKey)).toEqual([])
    await expect(world.start(newKey)).rejects.toThrow("Rows are still sealed under")
    await expect(world.command("finish", newKey)).rejects.toThrow("Rows are still sealed under")

    expect((await world.command("rotate", oldKey, newKey)).json).toMatchObject({ resealed: half.underAnotherKey })
    expect((await world.command("rotate", oldKey, newKey)).json).toMatchObject({ resealed: 0 })
    const only = await world.start(newKey)
    for (const name of ["one", "row-0", "row-4"]) expect(await only.reads(name)).toEqual(all(name))
  })

  test("retires the old key: it neither seals nor opens, and no process starts with it", async () => {
    const world = await startWorld()
    const before = await world.open(oldKey)
    const after = await rotated(world)
    const alone = createSecrets({ peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }], sealingKey: oldKey })
    const seals = createAuditSeals(oldKey)
    const opened = await resealAll(
      world.db,
      ({ scheme, label }, sealed) => {
        const value =
          scheme === "service"
            ? alone.open(label, sealed)
            : seals.openDataKey(label.replace("audit-data-key|", ""), sealed)
        return value && "current"
      },
      { isDry: true },
    )
    expect(opened.seen).toBeGreaterThan(8)
    expect([...opened.unopened.values()].reduce((a, b) => a + b)).toBe(opened.seen)
    // Values under it can no longer be read.
    const label = clientSecretLabel(idOf("pcl", "one"))
    expect(after.opened.secrets.open(label, before.secrets.seal(label, oldKey))).toBeUndefined()
    await expect(world.start(oldKey)).rejects.toThrow("is retired: remove it from the settings")
    await expect(world.start(newKey, oldKey)).rejects.toThrow("is retired: remove it from the settings")
    await expect(world.start(otherKey)).rejects.toThrow("it must be SIGNET_SEALING_KEY or SIGNET_SEALING_KEY_NEXT")
    await expect(world.command("rotate", newKey, oldKey)).rejects.toThrow("is retired")
    expect(await world.verify(newKey)).toEqual([])
  })

  test("stops a returning server with the old key at its next tick", async () => {
    const world = await startWorld()
    const away = await world.open(oldKey)
    await rotated(world)
    const records = await listSealingKeys(world.db)
    expect(() => away.sealing.follow(records)).toThrow("is retired")
    const label = clientSecretLabel(idOf("pcl", "late"))
    expect(() => away.secrets.seal(label, Buffer.from("late"))).toThrow("is retired")
    expect(() => away.seals.newDataKey("late")).toThrow("is retired")
    expect(() => away.seals.stamp("late")).toThrow("is retired")
  })

  test("may be followed by another, and stamps under all keys verify", async () => {
    const world = await startWorld()
    const second = await rotated(world)
    await second.write("two")
    await second.close()
    const both = await world.start(newKey, otherKey)
    await world.command("rotate", newKey, otherKey)
    await both.close()
    await world.command("finish", otherKey)
    const third = await world.start(otherKey)
    await third.write("three")
    for (const name of ["one", "two", "three"]) expect(await third.reads(name)).toEqual(all(name))
    expect(await world.verify(otherKey)).toEqual([])
    expect((await listSealingKeys(world.db)).map(({ status }) => status)).toEqual(["RETIRED", "RETIRED", "CURRENT"])
  })

  test("that cannot succeed is refused before anything is written", async () => {
    const world = await startWorld()
    await world.first.close()
    const before = await rows(world.db)
    expect(() => world.command("rotate", oldKey, oldKey)).toThrow("must differ from SIGNET_SEALING_KEY")
    await expect(world.command("rotate", oldKey)).rejects.toThrow(
      "SIGNET_SEALING_KEY_NEXT must hold the new sealing key",
    )
    await expect(world.command("rotate", otherKey, newKey)).rejects.toThrow("The active sealing key is")
    await expect(world.command("rotate", newKey, oldKey)).rejects.toThrow("equals the active sealing key")
    await expect(world.command("finish", oldKey)).rejects.toThrow("No rotation")
    await holdSealingKeys(world.db, "a server without it", { keyIds: ["x"], sealsWith: "x" })
    await expect(world.command("rotate", oldKey, newKey)).rejects.toThrow("1 running servers do not have the new key")
    expect(await rows(world.db)).toEqual(before)

    await run(world.db, "delete from sealing_key_holder", [])
    await world.command("rotate", oldKey, newKey)
    const under = await rows(world.db)
    await expect(world.command("rotate", oldKey, otherKey)).rejects.toThrow("The active sealing key is")
    await expect(world.command("rotate", newKey, otherKey)).rejects.toThrow("is not finished")
    expect(await rows(world.db)).toEqual(under)
  })
})

describeOnPostgres("whoever writes to the database", () => {
  test.each<[string, string]>([
    [
      "two rows",
      `update provider_client as a set client_secret_sealed = b.client_secret_sealed
      from provider_client as b where a.id <> b.id`,
    ],
    ["two columns", "update provider_client set client_secret_sealed = token_secret_sealed"],
    [
      "two tables",
      `update provider_account set refresh_token_sealed = (select client_secret_sealed from provider_client limit 1)`,
    ],
    [
      "two people's keys",
      `update audit_data_key as a set key_sealed = b.key_sealed from audit_data_key as b where a.owner <> b.owner`,
    ],
    ["two purposes", "update signing_key set purpose = 'CONTEXT' where purpose = 'ACCESS' and status = 'NEXT'"],
  ])("has nothing re-sealed by swapping values of %s", async (_, swap) => {
    const world = await startWorld()
    await world.first.write("two")
    await world.first.close()
    await run(world.db, "drop index if exists signing_key_next", [])
    await run(world.db, swap, [])
    const before = await rows(world.db)
    await expect(world.command("rotate", oldKey, newKey)).rejects.toThrow(
      "No sealing key of the settings opens these values",
    )
    expect(await rows(world.db)).toEqual(before)
  })

  test("with the old key can neither add an event after its end nor change an earlier one", async () => {
    const world = await startWorld()
    const old = createAuditSeals(oldKey)
    const after = await rotated(world)
    const forge = async () => {
      const row = toAuditRow(sealRow({ ...eventOf("forged"), subjectIdentityId: null }, null, old))
      const names = Object.keys(row)
      await run(
        world.db,
        `insert into audit_event (${names.join(", ")}) values (${names.map((_, i) => `$${i + 1}`).join(", ")})`,
        Object.values(row),
      )
      await run(world.db, "insert into audit_pending (event_id) values ($1)", [row.id])
      return row.id
    }
    const forged = await forge()
    expect(await world.verify(newKey)).toContain("EVENT_FORGED")
    expect((await after.link()).forged).toContain(forged)
    expect(await world.verify(newKey)).toEqual(["EVENT_FORGED"])
  })

  test("with the old key can neither create a checkpoint nor move the start of a chain", async () => {
    const world = await startWorld()
    const old = createAuditSeals(oldKey)
    const after = await rotated(world)
    const made = await after.checkpoint()
    await run(world.db, "update audit_checkpoint set stamp = $1 where number = $2", [
      Buffer.from(old.stamp(made?.jws ?? "")),
      String(made?.number),
    ])
    expect(await world.verify(newKey)).toEqual(["CHECKPOINT_CHANGED"])
    await run(world.db, "update audit_checkpoint set stamp = $1 where number = $2", [
      Buffer.from(after.opened.seals.stamp(made?.jws ?? "")),
      String(made?.number),
    ])
    expect(await world.verify(newKey)).toEqual([])
    const [head] = await run<{ shard: string; seq: string; hash: Uint8Array }>(
      world.db,
      "select shard, seq, hash from audit_link order by seq limit 1",
      [],
    )
    if (head === undefined) throw new Error("there is no link")
    const start = ["signet audit start v1", head.shard, String(head.seq), Buffer.from(head.hash).toString("hex")]
    await run(
      world.db,
      "insert into audit_start (shard, seq, hash, dropped_at, stamp) values ($1, $2, $3, now(), $4)",
      [...[head.shard, head.seq, head.hash], Buffer.from(old.stamp(JSON.stringify(start)))],
    )
    expect(await world.verify(newKey)).toEqual(["LINK_CHANGED"])
  })

  test("that restores the earlier state of the keys is detected", async () => {
    const world = await startWorld()
    await world.first.close()
    const both = await world.start(oldKey, newKey)
    await world.command("rotate", oldKey, newKey)
    await both.close()
    const [kept] = (await listSealingKeys(world.db)).filter(({ status }) => status === "PREVIOUS")
    const after = await world.start(newKey)
    await world.command("finish", newKey)
    await after.link()
    expect(await world.verify(newKey)).toEqual([])
    const stored = [kept?.id, Buffer.from(kept?.stampSealed ?? [])]
    const put = "update sealing_key set stamp_sealed = $2, status = $3 where id = $1"
    await run(world.db, put, [...stored, "RETIRED"])
    await expect(world.verify(newKey)).rejects.toThrow("does not open")
    await run(world.db, put, [...stored, "PREVIOUS"])
    expect(await world.verify(newKey)).toEqual(["STAMP_KEY_RESTORED"])
  })
})

describeOnPostgres("the list of sealed columns", () => {
  test("contains every column with a sealed name, each with its table's primary key", async () => {
    const { db } = await startWorld()
    const columns = await run<{ name: string }>(
      db,
      `select table_name || '.' || column_name as name from information_schema.columns
      where table_schema = 'public' and column_name like '%sealed' and data_type = 'bytea'`,
      [],
    )
    const listed = sealedColumns.map(({ table, column }) => `${table}.${column}`)
    expect(columns.map(({ name }) => name).toSorted()).toEqual([...listed, ...sealedElsewhere].toSorted())
    for (const { table, key } of sealedColumns) {
      const { rows: keys } = await db.executeQuery<{ name: string }>(
        CompiledQuery.raw(
          `select attname as name from pg_index join pg_attribute on attrelid = indrelid and attnum = any(indkey)
          where indrelid = $1::regclass and indisprimary`,
          [table],
        ),
      )
      expect(keys.map(({ name }) => name).toSorted()).toEqual([...key].toSorted())
    }
  })

  test("contains everything sealed under the service's key: each value opens with its label", async () => {
    const { db, first } = await startWorld()
    const seen = new Set<string>()
    const pass = await resealAll(
      db,
      ({ scheme, label }, sealed) => {
        seen.add(label.split("|")[0] ?? "")
        return first.opened.sealing.reseal(scheme, label, sealed)
      },
      { isDry: true },
    )
    expect(pass).toMatchObject({ resealed: 0, unopened: new Map() })
    const all = [
      "provider-client-secret",
      "provider-token-secret",
      "provider-refresh-token",
      "signing-key",
      "issuer-key",
    ]
    expect([...seen].toSorted()).toEqual([...all, dataKeyLabel("").slice(0, -1)].toSorted())
  })
})
