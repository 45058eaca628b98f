import { eventHash, type Head, linkHash } from "@signet/kernel/audit/chain"
import type { CheckpointClaims } from "@signet/kernel/audit/checkpoint"
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { Flaw } from "@signet/kernel/audit/flaw"
import { stampedText } from "@signet/kernel/audit/row"
import { CompiledQuery } from "kysely"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testAuditWriting, testSeals } from "../../../test/support/audit-writing.ts"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../test/support/postgres.ts"
import { linkPending } from "./audit-chain.ts"
import { makeCheckpoint } from "./audit-checkpoints.ts"
import { dropUntil } from "./audit-drop.ts"
import { fromAuditRow } from "./audit-row.ts"
import { verifyAuditIn } from "./audit-verify.ts"
import type { Database } from "./sql.ts"
import { freshId, putApp, putPerson } from "./testing/people.ts"

const claimsOf = (jws: string): CheckpointClaims | undefined => {
  try {
    return JSON.parse(jws)
  } catch {
    return undefined
  }
}

/** As a checkpoint is signed, without a signature: that is the key ring's. */
const signed = (claims: CheckpointClaims): string => JSON.stringify(claims)

describeOnEachStore("the chains of the audit", (kind) => {
  let opened: TestStore
  let nowMs = 1_000
  const kept = new Map<bigint, string>()
  const [appId, tenantId] = [freshId("app"), freshId("ten")]
  const event = (change: Partial<AuditEvent> = {}): AuditEvent => ({
    id: freshId("aud"),
    occurredAtMs: nowMs,
    kind: "grant.created",
    outcome: "SUCCESS",
    reason: null,
    appId,
    tenantId,
    contextId: null,
    actorPrincipalId: null,
    subjectPrincipalId: null,
    subjectIdentityId: null,
    sessionId: null,
    target: { type: "grant", id: "g" },
    request: { id: "r", route: "R/M", ipTruncated: "192.0.2.0/24" },
    ...change,
  })
  const append = (...events: readonly AuditEvent[]) =>
    opened.store.transaction(async (tx) => {
      for (const one of events) await tx.audit.append(one)
    })
  const link = (db: Database = opened.db) => linkPending(db, testSeals, () => nowMs)
  const checkpoint = () =>
    makeCheckpoint(opened.db, {
      writing: testAuditWriting(),
      iss: "https://auth.example",
      nowMs,
      everyMs: 1_000,
      sign: signed,
      event: ({ number, jws }) =>
        event({
          kind: "audit.checkpoint",
          appId: null,
          tenantId: null,
          target: { type: "audit_checkpoint", id: `${number}:${Buffer.from(testSeals.digest(jws)).toString("hex")}` },
        }),
    })
  const verify = (db: Database, keptNow: ReadonlyMap<bigint, string> = new Map()) =>
    verifyAuditIn(db, { seals: testSeals, nowMs, patienceMs: 10_000, open: claimsOf, kept: keptNow })

  beforeAll(async () => {
    opened = await openTestStore(kind)
    for (let round = 0; round < 3; round++) {
      await append(...Array.from({ length: 4 }, () => event()), event({ tenantId: null }))
      await link()
      nowMs += 1_000
      const made = await checkpoint()
      if (made !== undefined) kept.set(made.number, made.jws)
    }
    await append(event())
    await link()
  })
  afterAll(() => opened.close())

  test("are whole when nobody touched them, one for each place", async () => {
    const { flaws, ...counted } = await verify(opened.db, kept)
    expect(flaws).toEqual([])
    expect(counted).toEqual({ chains: 3, links: 19, checkpoints: 3, waiting: 0, unstamped: 0 })
  })

  /** What verification says after the attack, which is undone. */
  async function attacked(attack: (db: Database) => Promise<unknown>, keptNow?: ReadonlyMap<bigint, string>) {
    let found: readonly Flaw[] = []
    const undone = opened.db.transaction().execute(async (trx) => {
      await attack(trx)
      found = (await verify(trx, keptNow)).flaws
      throw new Error("undo")
    })
    await expect(undone).rejects.toThrow("undo")
    return found
  }

  const run = (db: Database, text: string, values: readonly unknown[] = []) =>
    db.executeQuery<Record<string, never>>(CompiledQuery.raw(text, [...values]))
  const eventAt = (seq: number) => `(select event_id from audit_link where shard = '${tenantId}' and seq = ${seq})`
  const swap = (columns: string) => `update audit_link set (${columns}) = (select ${columns} from audit_link as other
    where other.shard = audit_link.shard and other.seq = 11 - audit_link.seq)
    where shard = '${tenantId}' and seq in (5, 6)`

  /** Everything anew from a link on, as somebody does who knows how links are made. */
  async function relink(db: Database, from: number, isStamped: boolean): Promise<void> {
    const before = await run(db, "select * from audit_link where shard = $1 and seq = $2", [tenantId, from - 1])
    const [prev = {}] = before.rows
    let head: Head = { shard: tenantId, seq: BigInt(from - 1), hash: new Uint8Array(prev.hash ?? []) }
    const { rows } = await db
      .selectFrom("audit_link")
      .innerJoin("audit_event", "audit_event.id", "audit_link.event_id")
      .selectAll()
      .where("shard", "=", tenantId)
      .where("seq", ">=", from)
      .orderBy("seq")
      .execute()
      .then((all) => ({ rows: all }))
    for (const row of rows) {
      const kept = fromAuditRow(row)
      const stamp = isStamped ? testSeals.stamp(stampedText(kept)) : kept.stamp
      await run(db, "update audit_event set stamp = $2 where id = $1", [row.id, stamp && Buffer.from(stamp)])
      const eventHashNow = eventHash(testSeals, { ...kept, stamp })
      const link = { eventId: row.id, eventHash: eventHashNow, linkedAtMs: row.linked_at.getTime() }
      head = { shard: tenantId, seq: head.seq + 1n, hash: linkHash(testSeals, head, link) }
      const values = [tenantId, head.seq.toString(), Buffer.from(eventHashNow), Buffer.from(head.hash)]
      await run(db, "update audit_link set event_hash = $3, hash = $4 where shard = $1 and seq = $2", values)
    }
  }

  const inTenant = (what: string, seq: bigint) => expect.objectContaining({ what, shard: tenantId, seq })
  const ofCheckpoint = (what: string, checkpoint: bigint) => expect.objectContaining({ what, checkpoint })
  const change = `update audit_event set outcome = 'FAILURE' where id = ${eventAt(5)}`

  describe("name the first thing that is wrong", () => {
    test.each<[string, string | string[], () => unknown]>([
      ["an event that was changed", change, () => inTenant("EVENT_CHANGED", 5n)],
      [
        "a personal field that was changed",
        `update audit_event set personal_sealed = null where id = ${eventAt(5)}`,
        () => inTenant("EVENT_CHANGED", 5n),
      ],
      [
        "an event that was deleted",
        `delete from audit_event where id = ${eventAt(5)}`,
        () => inTenant("EVENT_MISSING", 5n),
      ],
      [
        "a link that was deleted",
        `delete from audit_link where shard = '${tenantId}' and seq = 5`,
        () => inTenant("LINK_MISSING", 5n),
      ],
      [
        "links that changed places",
        [
          `update audit_link set seq = 1000 where shard = '${tenantId}' and seq = 5`,
          `update audit_link set seq = 5 where shard = '${tenantId}' and seq = 6`,
          `update audit_link set seq = 6 where shard = '${tenantId}' and seq = 1000`,
        ],
        () => inTenant("LINK_REORDERED", 5n),
      ],
      [
        "a link that was changed",
        `update audit_link set hash = sha256(hash) where shard = '${tenantId}' and seq = 5`,
        () => inTenant("LINK_CHANGED", 5n),
      ],
      [
        "a link whose time was changed",
        `update audit_link set linked_at = linked_at + interval '1 hour' where shard = '${tenantId}' and seq = 5`,
        () => inTenant("LINK_CHANGED", 5n),
      ],
      ["hashes that changed places", swap("event_hash, hash"), () => inTenant("LINK_CHANGED", 5n)],
      [
        "a tail that was cut, against the checkpoint",
        [
          `delete from audit_event where id in (select event_id from audit_link where shard = '${tenantId}' and seq > 10)`,
          `delete from audit_link where shard = '${tenantId}' and seq > 10`,
        ],
        () => expect.objectContaining({ what: "TAIL_CUT", shard: tenantId, seq: 12n, checkpoint: 3n }),
      ],
      [
        "a chain that was dropped",
        [
          `delete from audit_event where tenant_id = '${tenantId}'`,
          `delete from audit_link where shard = '${tenantId}'`,
        ],
        () => inTenant("CHAIN_MISSING", 4n),
      ],
      [
        "a checkpoint that was replaced by an older one",
        `update audit_checkpoint set (jws, stamp) = (select jws, stamp from audit_checkpoint where number = 2) where number = 3`,
        () => ofCheckpoint("CHECKPOINT_CHANGED", 3n),
      ],
      [
        "a head of a checkpoint that was changed",
        "update audit_checkpoint_head set seq = seq - 1 where number = 3",
        () => ofCheckpoint("CHECKPOINT_CHANGED", 3n),
      ],
      [
        "a checkpoint that was taken away: its event tells of it",
        ["delete from audit_checkpoint_head where number = 3", "delete from audit_checkpoint where number = 3"],
        () => ofCheckpoint("CHECKPOINT_MISSING", 3n),
      ],
    ])("%s", async (_, texts, expected) => {
      const flaws = await attacked(async (db) => {
        for (const text of [texts].flat()) await run(db, text)
      })
      expect(flaws[0]).toEqual(expected())
    })

    test("an event that somebody else inserted, linked or not", async () => {
      const insert = (db: Database, stamp: string) =>
        run(
          db,
          `insert into audit_event (id, occurred_at, kind, outcome, request_id, request_route, stamp)
          select $1, occurred_at, kind, outcome, request_id, request_route, ${stamp} from audit_event where id = ${eventAt(5)}`,
          ["aud_forged"],
        )
      expect(await attacked((db) => insert(db, "stamp"))).toMatchObject([
        { what: "EVENT_FORGED", eventId: "aud_forged" },
      ])
      expect(await attacked((db) => insert(db, "null"))).toMatchObject([
        { what: "EVENT_UNSTAMPED", eventId: "aud_forged" },
      ])
    })

    test("an event that was changed by somebody who made all links after it anew: the stamp tells", async () => {
      const flaws = await attacked(async (db) => {
        await run(db, change)
        await relink(db, 5, false)
      })
      expect(flaws[0]).toEqual(inTenant("EVENT_FORGED", 5n))
    })

    test("a past that was written anew by somebody who has the service's key too: the checkpoint tells", async () => {
      const flaws = await attacked(async (db) => {
        await run(db, change)
        await relink(db, 5, true)
      })
      expect(flaws[0]).toMatchObject({ what: "CHAIN_REWRITTEN", shard: tenantId, checkpoint: 2n })
    })

    test("checkpoints that were made anew as well: those that were kept elsewhere tell", async () => {
      const forged = new Map([...kept, [2n, "another"]])
      expect((await verify(opened.db, forged)).flaws).toMatchObject([{ what: "CHECKPOINT_CHANGED", checkpoint: 2n }])
      const later = new Map([...kept, [9n, "of later"]])
      expect((await verify(opened.db, later)).flaws).toMatchObject([{ what: "CHECKPOINT_MISSING", checkpoint: 9n }])
    })
  })

  test("an event is linked once, whoever links at the same time, and waits for nobody", async () => {
    const before = await verify(opened.db)
    const events = Array.from({ length: 40 }, () => event())
    await Promise.all([...events.map((one) => append(one)), ...Array.from({ length: 8 }, () => link())])
    await link()
    const after = await verify(opened.db)
    expect(after).toMatchObject({ flaws: [], links: before.links + events.length, waiting: 0 })
  })

  test("an event waits at most as long as is allowed, and one that is deleted meanwhile is missed", async () => {
    const waiting = event()
    await append(waiting)
    expect(await verify(opened.db)).toMatchObject({ flaws: [], waiting: 1 })
    const gone = await attacked((db) => run(db, "delete from audit_event where id = $1", [waiting.id]))
    expect(gone).toMatchObject([{ what: "EVENT_MISSING", eventId: waiting.id }])
    nowMs += 10_000
    expect((await verify(opened.db)).flaws).toMatchObject([{ what: "EVENT_UNLINKED", eventId: waiting.id }])
    await link()
    expect((await verify(opened.db)).flaws).toEqual([])
  })

  test("an event and what it tells of are kept together or not at all", async () => {
    const person = await putApp(opened.store).then(() => putPerson(opened.store))
    const before = await verify(opened.db)
    const failing = opened.store.transaction(async (tx) => {
      await tx.identities.setPrimaryEmail(person.identity.id, "new@a.example", 9)
      await tx.audit.append(event())
      throw new Error("killed")
    })
    await expect(failing).rejects.toThrow("killed")
    const unkeepable = opened.store.transaction(async (tx) => {
      await tx.identities.setPrimaryEmail(person.identity.id, "new@a.example", 9)
      await tx.audit.append(event({ outcome: "PERHAPS" as never }))
    })
    await expect(unkeepable).rejects.toMatchObject({ code: "23514" })
    const found = await opened.store.transaction((tx) => tx.identities.findIdentity(person.identity.id))
    expect(found).toEqual(person.identity)
    await link()
    expect((await verify(opened.db)).links).toBe(before.links)
  })

  test("what names a person is gone with them, and the chain is whole as before", async () => {
    await putApp(opened.store)
    const { identity, principal } = await putPerson(opened.store)
    const bystander = await putPerson(opened.store)
    await append(
      event({ actorPrincipalId: principal.id, subjectIdentityId: identity.id }),
      event({ subjectPrincipalId: principal.id }),
      event({ actorPrincipalId: bystander.principal.id, subjectPrincipalId: principal.id }),
    )
    await link()
    const seen = () =>
      opened.store.transaction(async (tx) => {
        const of = { kinds: [], outcome: null, targetType: null, targetId: null, fromMs: null, untilMs: null }
        const filter = { appId, tenantId, contextId: null, principalId: principal.id, ...of }
        const events = await tx.audit.list(filter, { size: 10, before: null })
        return events.map(({ request: { ipTruncated, isErased = false } }) => `${ipTruncated} ${isErased}`).toSorted()
      })
    expect(await seen()).toEqual(Array(3).fill("192.0.2.0/24 false"))
    await opened.store.transaction((tx) => tx.accounts.erase(identity.id, 5_000))
    // The bystander's network is the bystander's.
    expect(await seen()).toEqual(["192.0.2.0/24 false", "null true", "null true"])
    // Also what the same process, which knew the key, still had to say.
    await append(event({ actorPrincipalId: principal.id }))
    await link()
    expect((await seen()).filter((one) => one === "null true")).toHaveLength(3)
    expect((await verify(opened.db, kept)).flaws).toEqual([])
    const key = await run(opened.db, "select key_sealed from audit_data_key where owner = $1", [principal.id])
    expect(key.rows).toEqual([{ key_sealed: null }])
  })

  test("what is dropped up to a checkpoint is missed by nobody, and what else is taken away is", async () => {
    const dropped = await dropUntil(opened.db, testAuditWriting(), {
      untilMs: 3_500,
      nowMs,
      event: event({ kind: "audit.dropped", tenantId: null, appId: null }),
    })
    expect(dropped.chains).toBe(3)
    expect(dropped.events).toBeGreaterThan(5)
    expect((await verify(opened.db, kept)).flaws).toEqual([])
    await append(event())
    await link()
    expect((await verify(opened.db, kept)).flaws).toEqual([])
    const { rows } = await run(opened.db, "select max(seq) as seq from audit_start where shard = $1", [tenantId])
    const first = BigInt(rows[0]?.seq ?? 0) + 1n
    const ofNext = await attacked((db) =>
      run(db, "delete from audit_link where shard = $1 and seq = $2", [tenantId, String(first)]),
    )
    expect(ofNext[0]).toEqual(inTenant("LINK_MISSING", first))
    const moved = await attacked(async (db) => {
      await run(db, "delete from audit_link where shard = $1 and seq = $2", [tenantId, String(first)])
      await run(db, "update audit_start set seq = seq + 1 where shard = $1", [tenantId])
    })
    expect(moved.map(({ what }) => what)).toContain("LINK_MISSING")
    const without = await attacked((db) => run(db, "delete from audit_start"))
    expect(without.some((one) => one.what === "LINK_MISSING" && one.seq === 1n)).toBe(true)
  })

  /** Links an event that is in no chain, as anybody can who may insert. */
  async function linkInto(db: Database, shard: string, eventId: AuditEvent["id"], linkedAtMs: number): Promise<void> {
    const [row] = await db.selectFrom("audit_event").selectAll().where("id", "=", eventId).execute()
    const { rows: heads } = await run(db, "select * from audit_link where shard = $1 order by seq desc limit 1", [
      shard,
    ])
    const [last = {}] = heads
    const head = { shard, seq: BigInt(last.seq ?? 0), hash: new Uint8Array(last.hash ?? new Uint8Array(32)) }
    const link = { eventId, eventHash: eventHash(testSeals, fromAuditRow(row ?? expect.fail())), linkedAtMs }
    await run(
      db,
      "insert into audit_link (shard, seq, event_id, event_hash, linked_at, hash) values ($1, $2, $3, $4, $5, $6)",
      [
        shard,
        Number(head.seq) + 1,
        eventId,
        Buffer.from(link.eventHash),
        new Date(linkedAtMs),
        Buffer.from(linkHash(testSeals, head, link)),
      ],
    )
    await run(db, "delete from audit_pending where event_id = $1", [eventId])
  }

  test.each([
    ["is one of before, not of now", () => nowMs],
    ["is none of before either when its link is dated back", () => 1],
  ])("an event without a stamp %s", async (_, linkedAtMs) => {
    const flaws = await attacked(async (db) => {
      await run(
        db,
        `insert into audit_event (id, occurred_at, kind, outcome, request_id, request_route)
        select 'aud_0', occurred_at, kind, outcome, request_id, request_route from audit_event limit 1`,
      )
      await linkInto(db, "-", "aud_0" as never, linkedAtMs())
    })
    expect(flaws[0]).toMatchObject({ what: "EVENT_UNSTAMPED", shard: "-", eventId: "aud_0" })
  })

  test("an event in another chain than its own is named, since its own's readers would not miss it", async () => {
    const hidden = event()
    await append(hidden)
    const flaws = await attacked((db) => linkInto(db, appId, hidden.id, nowMs))
    expect(flaws).toMatchObject([{ what: "LINK_REORDERED", shard: appId, eventId: hidden.id }])
    await link()
    expect((await verify(opened.db)).flaws).toEqual([])
  })

  test("an event that waits again although it is linked stops nothing", async () => {
    const { rows } = await run(opened.db, "select event_id from audit_link limit 1")
    await run(opened.db, "insert into audit_pending (event_id) values ($1)", [rows[0]?.event_id])
    await append(event())
    expect(await link()).toMatchObject({ linked: 1 })
    expect((await run(opened.db, "select * from audit_pending")).rows).toEqual([])
    expect((await verify(opened.db)).flaws).toEqual([])
  })

  test("a checkpoint of a clock that ran ahead puts off none, and its time is the one that was signed", async () => {
    const atMs = nowMs
    nowMs += 10 * 365 * 86_400_000
    const ahead = await checkpoint()
    nowMs = atMs + 1_000
    expect((await checkpoint())?.number).toBe((ahead?.number ?? 0n) + 1n)
    const flaws = await attacked((db) =>
      run(db, "update audit_checkpoint set created_at = created_at + interval '1 day' where number = 1"),
    )
    expect(flaws).toMatchObject([{ what: "CHECKPOINT_CHANGED", checkpoint: 1n }])
  })

  test("a checkpoint with a number of somebody's choice is told of, and what is missing before it not without end", async () => {
    const flaws = await attacked((db) =>
      run(
        db,
        "insert into audit_checkpoint select 9007199254740000, created_at, jws, stamp from audit_checkpoint limit 1",
      ),
    )
    expect(flaws[0]).toMatchObject({ what: "CHECKPOINT_CHANGED", checkpoint: 9_007_199_254_740_000n })
    expect(flaws).toHaveLength(100)
  })

  test.each([
    "insert into audit_checkpoint select 9223372036854775807, created_at, jws, stamp from audit_checkpoint limit 1",
    `insert into audit_link select shard, 9223372036854775807, 'aud_none', event_hash, linked_at, hash from audit_link limit 1`,
  ])("no place is beyond what a reader can count: %s", async (text) => {
    await expect(run(opened.db, text)).rejects.toMatchObject({ code: "23514" })
  })
})
