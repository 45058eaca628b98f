// An attacker with write access to the database changes the audit, and verification reports it.
import { eventHash, type Head, linkHash } from "@signet/kernel/audit/chain"
import { stampedText } from "@signet/kernel/audit/row"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { auditChains, run } from "../../../../test/support/audit-chains.ts"
import { testSeals } from "../../../../test/support/audit-log-deps.ts"
import { describeOnEachStore, type TestStore } from "../../../../test/support/postgres.ts"
import type { Database } from "../sql.ts"
import { fromAuditRow } from "./audit-row.ts"

describeOnEachStore("the chains of the audit", (kind) => {
  const { open, kept, tenantId, verify, attacked } = auditChains()
  let opened: TestStore
  beforeAll(async () => {
    opened = await open(kind)
  })
  afterAll(() => opened?.close())

  const eventAt = (seq: number) => `(select event_id from audit_link where shard = '${tenantId}' and seq = ${seq})`
  const swap = (columns: string) => `update audit_link set (${columns}) = (select ${columns} from audit_link as other
    where other.shard = audit_link.shard and other.seq = 11 - audit_link.seq)
    where shard = '${tenantId}' and seq in (5, 6)`

  /** Rewrites every link from one on, as an attacker does who knows how links are made. */
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

  describe("report the first defect", () => {
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
        "swapped links",
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
      ["swapped hashes", swap("event_hash, hash"), () => inTenant("LINK_CHANGED", 5n)],
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
        "a deleted checkpoint, which its event names",
        ["delete from audit_checkpoint_head where number = 3", "delete from audit_checkpoint where number = 3"],
        () => ofCheckpoint("CHECKPOINT_MISSING", 3n),
      ],
    ])("%s", async (_, texts, expected) => {
      const flaws = await attacked(async (db) => {
        for (const text of [texts].flat()) await run(db, text)
      })
      expect(flaws[0]).toEqual(expected())
    })

    test("a forged event, linked or not", async () => {
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

    test("a changed event with rewritten links: the stamp shows it", async () => {
      const flaws = await attacked(async (db) => {
        await run(db, change)
        await relink(db, 5, false)
      })
      expect(flaws[0]).toEqual(inTenant("EVENT_FORGED", 5n))
    })

    test("a history rewritten with the service's key: the checkpoint shows it", async () => {
      const flaws = await attacked(async (db) => {
        await run(db, change)
        await relink(db, 5, true)
      })
      expect(flaws[0]).toMatchObject({ what: "CHAIN_REWRITTEN", shard: tenantId, checkpoint: 2n })
    })

    test("rewritten checkpoints: external copies show it", async () => {
      const forged = new Map([...kept, [2n, "another"]])
      expect((await verify(opened.db, forged)).flaws).toMatchObject([{ what: "CHECKPOINT_CHANGED", checkpoint: 2n }])
      const later = new Map([...kept, [9n, "of later"]])
      expect((await verify(opened.db, later)).flaws).toMatchObject([{ what: "CHECKPOINT_MISSING", checkpoint: 9n }])
    })
  })
})
