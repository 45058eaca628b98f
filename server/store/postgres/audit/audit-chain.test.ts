// Events, links and checkpoints as the store writes them, and what verification reports after they are removed or
// inserted.
import { eventHash, linkHash } from "@signet/kernel/audit/chain"
import type { Denial } from "@signet/kernel/audit/denial"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { afterAll, beforeAll, expect, test } from "vitest"
import { auditChains, run } from "../../../../test/support/audit-chains.ts"
import { testAuditLogDeps, testSeals } from "../../../../test/support/audit-log-deps.ts"
import { describeOnEachStore, type TestStore } from "../../../../test/support/postgres.ts"
import type { Database } from "../sql.ts"
import { putApp, putPerson } from "../testing/people.ts"
import { dropUntil } from "./audit-drop.ts"
import { fromAuditRow } from "./audit-row.ts"

describeOnEachStore("the chains of the audit", (kind) => {
  const { open, clock, kept, appId, tenantId, event, append, link, checkpoint, verify, attacked } = auditChains()
  let opened: TestStore
  beforeAll(async () => {
    opened = await open(kind)
  })
  afterAll(() => opened?.close())

  test("are valid when unchanged, one per place", async () => {
    const { flaws, ...counted } = await verify(opened.db, kept)
    expect(flaws).toEqual([])
    expect(counted).toEqual({ chains: 3, links: 19, checkpoints: 3, waiting: 0, unstamped: 0 })
  })

  const inTenant = (what: string, seq: bigint) => expect.objectContaining({ what, shard: tenantId, seq })

  test("an event is linked once by concurrent linkers, and appending waits for none", async () => {
    const before = await verify(opened.db)
    const events = Array.from({ length: 40 }, () => event())
    await Promise.all([...events.map((one) => append(one)), ...Array.from({ length: 8 }, () => link())])
    await link()
    const after = await verify(opened.db)
    expect(after).toMatchObject({ flaws: [], links: before.links + events.length, waiting: 0 })
  })

  test("an event that is unlinked for too long, or deleted before it is linked, is reported", async () => {
    const waiting = event()
    await append(waiting)
    expect(await verify(opened.db)).toMatchObject({ flaws: [], waiting: 1 })
    const gone = await attacked((db) => run(db, "delete from audit_event where id = $1", [waiting.id]))
    expect(gone).toMatchObject([{ what: "EVENT_MISSING", eventId: waiting.id }])
    clock.nowMs += 10_000
    expect((await verify(opened.db)).flaws).toMatchObject([{ what: "EVENT_UNLINKED", eventId: waiting.id }])
    await link()
    expect((await verify(opened.db)).flaws).toEqual([])
  })

  test("an event and its change are committed together or not at all", async () => {
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

  test("an erased person's fields are unreadable, and the chain stays valid", async () => {
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
    // Another person's network stays readable.
    expect(await seen()).toEqual(["192.0.2.0/24 false", "null true", "null true"])
    // The same process still knows the key, but must not seal with it.
    await append(event({ actorPrincipalId: principal.id }))
    await link()
    expect((await seen()).filter((one) => one === "null true")).toHaveLength(3)
    expect((await verify(opened.db, kept)).flaws).toEqual([])
    const key = await run(opened.db, "select key_sealed from audit_data_key where owner = $1", [principal.id])
    expect(key.rows).toEqual([{ key_sealed: null }])
  })

  test("the facts of a denial are listed as recorded, verified with their event, and erased with the person", async () => {
    await putApp(opened.store)
    const { identity, principal } = await putPerson(opened.store)
    const denial: Denial = {
      ...{ requirement: "scope(notes.write)", missing: "notes.write" },
      ...{ audience: "svc-notes", authTimeMs: 7 },
      callerKind: "USER",
    }
    const of = { kind: "authz.denied", outcome: "DENIED", actorPrincipalId: principal.id } as const
    const withoutAddress = { request: { id: "r", route: "R/M", ipTruncated: null } }
    const denied = [event({ ...of, denial }), event({ ...of, ...withoutAddress, denial })]
    await append(...denied, event(of))
    await link()
    const seen = () =>
      opened.store.transaction(async (tx) => {
        const every = { kinds: [], outcome: null, targetType: null, targetId: null, fromMs: null, untilMs: null }
        const filter = { appId, tenantId, contextId: null, principalId: principal.id, ...every }
        const events = await tx.audit.list(filter, { size: 10, before: null })
        return new Map(events.map((one) => [one.id, one.denial]))
      })
    const [first, second] = denied.map(({ id }) => id)
    const expected = new Map(denied.map(({ id }) => [id, denial]))
    expect(new Map([...(await seen())].filter(([, found]) => found !== undefined))).toEqual(expected)
    expect((await verify(opened.db, kept)).flaws).toEqual([])

    const { rows } = await run(opened.db, "select to_jsonb(e) as e from audit_event e where id = $1", [first])
    expect(JSON.stringify(rows)).not.toContain("notes.write")
    const replaced = await attacked(async (db) => {
      const value = "(select personal_sealed from audit_event where id = $2)"
      await run(db, `update audit_event set personal_sealed = ${value} where id = $1`, [first, second])
    })
    expect(replaced).toMatchObject([{ what: "EVENT_CHANGED", eventId: first }])

    await opened.store.transaction((tx) => tx.accounts.erase(identity.id, 5_000))
    expect([...(await seen()).values()]).toEqual([undefined, undefined, undefined])
    expect((await verify(opened.db, kept)).flaws).toEqual([])
  })

  test("events dropped up to a checkpoint are not reported, other missing events are", async () => {
    const dropped = await dropUntil(opened.db, testAuditLogDeps(), {
      untilMs: 3_500,
      nowMs: clock.nowMs,
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

  /** Links an event that is in no chain, as an attacker with insert rights could. */
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
    ["is refused with the current time", () => clock.nowMs],
    ["is refused with a backdated link", () => 1],
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

  test("an event in another chain than its own is reported", async () => {
    const hidden = event()
    await append(hidden)
    const flaws = await attacked((db) => linkInto(db, appId, hidden.id, clock.nowMs))
    expect(flaws).toMatchObject([{ what: "LINK_REORDERED", shard: appId, eventId: hidden.id }])
    await link()
    expect((await verify(opened.db)).flaws).toEqual([])
  })

  test("a linked event that is pending again blocks nothing", async () => {
    const { rows } = await run(opened.db, "select event_id from audit_link limit 1")
    await run(opened.db, "insert into audit_pending (event_id) values ($1)", [rows[0]?.event_id])
    await append(event())
    expect(await link()).toMatchObject({ linked: 1 })
    expect((await run(opened.db, "select * from audit_pending")).rows).toEqual([])
    expect((await verify(opened.db)).flaws).toEqual([])
  })

  test("a checkpoint in the future delays no other, and keeps its signed time", async () => {
    const atMs = clock.nowMs
    clock.nowMs += 10 * 365 * 86_400_000
    const ahead = await checkpoint()
    clock.nowMs = atMs + 1_000
    expect((await checkpoint())?.number).toBe((ahead?.number ?? 0n) + 1n)
    const flaws = await attacked((db) =>
      run(db, "update audit_checkpoint set created_at = created_at + interval '1 day' where number = 1"),
    )
    expect(flaws).toMatchObject([{ what: "CHECKPOINT_CHANGED", checkpoint: 1n }])
  })

  test("a forged checkpoint number is reported, with a bounded list of missing ones", async () => {
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
