// Attacks on sealed values and stamps by a writer to the database.
import { randomBytes } from "node:crypto"
import { sealRow } from "@signet/kernel/audit/row"
import { expect, test, vi } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { describeOnPostgres } from "../../../test/support/postgres.ts"
import { createAuditCrypto } from "../../keys/audit-crypto.ts"
import { toAuditRow } from "../../store/postgres/audit/audit-row.ts"
import { listSealingKeys } from "../../store/postgres/keys/sealing-keys.ts"
import { run } from "../../store/postgres/sql.ts"
import { eventOf, newKey, oldKey, rotated, rows, startWorld } from "../testing/sealing-world.ts"

vi.setConfig({ testTimeout: 120_000 })

describeOnPostgres("a writer to the database", () => {
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

  test.runIf(isLong)("with the old key can neither add an event after its end nor change an earlier one", async () => {
    const world = await startWorld()
    const old = createAuditCrypto(oldKey)
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

  test.runIf(isLong)("with the old key can neither create a checkpoint nor move the start of a chain", async () => {
    const world = await startWorld()
    const old = createAuditCrypto(oldKey)
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

  test.runIf(isLong)("gets no stamp from a rotation for a start of a chain that they forged", async () => {
    const world = await startWorld()
    await world.first.checkpoint()
    // As if the chain's first event had been dropped after its time.
    const forgeText = `with head as (select shard, seq, hash, event_id from audit_link order by seq limit 1),
      forged as (insert into audit_start (shard, seq, hash, dropped_at, stamp)
        select shard, seq, hash, now(), $1 from head),
      unlinked as (delete from audit_link where event_id = (select event_id from head))
      delete from audit_event where id = (select event_id from head)`
    await run(world.db, forgeText, [randomBytes(32)])
    expect(await world.verify(oldKey)).toContain("LINK_CHANGED")
    await rotated(world)
    expect(await world.verify(newKey)).toContain("LINK_CHANGED")
  })

  test.runIf(isLong)("that restores the earlier state of the keys is detected", async () => {
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
