// Rotation of the sealing key while servers run, and the old key after it.
import { clientSecretLabel, providerTokenLabel } from "@signet/kernel/keys/sealed-columns"
import { expect, test, vi } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { describeOnPostgres } from "../../../test/support/postgres.ts"
import { createAuditCrypto } from "../../keys/audit-crypto.ts"
import { createSecrets } from "../../keys/secrets.ts"
import { resealAll } from "../../store/postgres/keys/reseal.ts"
import { holdSealingKeys, listSealingKeys } from "../../store/postgres/keys/sealing-keys.ts"
import { run } from "../../store/postgres/sql.ts"
import { all, idOf, newKey, oldKey, otherKey, rotated, rows, startWorld } from "../testing/sealing-world.ts"

vi.setConfig({ testTimeout: 120_000 })

describeOnPostgres("a rotation of the sealing key", () => {
  test.runIf(isLong)(
    "succeeds with every configuration of servers during its steps, and the audit log stays valid",
    async () => {
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
    },
  )

  test.runIf(isLong)("re-seals values of a transaction that sealed before it and commits after it", async () => {
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
    // A command that waits looks again; one that waits for nothing looks less often before it ends.
    const looks = new Set<string>()
    const lookText = `select query_start::text as at from pg_stat_activity
      where query like 'select virtualxid%' and datname = current_database()`
    const isWaiting = async () => {
      for (const { at } of await run<{ at: string }>(world.db, lookText, [])) looks.add(at)
      return looks.size > 2
    }
    try {
      await expect.poll(async () => hasEnded || (await isWaiting()), { timeout: 60_000 }).toBe(true)
      expect(hasEnded).toBe(false)
      expect((await listSealingKeys(world.db)).map(({ status }) => status)).toContain("PREVIOUS")
    } finally {
      held.resolve()
      await Promise.all([writing, rotation])
    }
    const { json } = await world.command("list", newKey)
    expect(json).toEqual(expect.objectContaining({ underAnotherKey: 0, unopened: {} }))
  })

  test("keeps a value that changes while it is re-sealed", async () => {
    const world = await startWorld()
    await world.first.close()
    const client = idOf("pcl", "one")
    const [changed, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const writing = world.db.transaction().execute(async (trx) => {
      const text = "update provider_client set client_secret_sealed = $1 where id = $2"
      await run(trx, text, [Buffer.from("written meanwhile"), client])
      changed.resolve()
      await held.promise
    })
    await changed.promise
    const resealing = resealAll(world.db, (_, sealed) => new Uint8Array([...sealed, 0]))
    const blockedText = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    const isBlocked = async () => (await run(world.db, blockedText, [])).length > 0
    try {
      await expect.poll(isBlocked, { timeout: 60_000 }).toBe(true)
    } finally {
      held.resolve()
      await Promise.all([writing, resealing])
    }
    const readText = "select client_secret_sealed as sealed from provider_client where id = $1"
    const [row] = await run<{ sealed: Uint8Array }>(world.db, readText, [client])
    expect(Buffer.from(row?.sealed ?? []).toString()).toBe("written meanwhile")
  })

  test.runIf(isLong)("continues after a kill, and a partly re-sealed table stays readable", async () => {
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

  test.runIf(isLong)("retires the old key: it neither seals nor opens, and no process starts with it", async () => {
    const world = await startWorld()
    const before = await world.open(oldKey)
    const after = await rotated(world)
    const alone = createSecrets({ peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }], sealingKey: oldKey })
    const seals = createAuditCrypto(oldKey)
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

  test.runIf(isLong)("stops a returning server with the old key at its next tick", async () => {
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

  test.runIf(isLong)("may be followed by another, and stamps under all keys verify", async () => {
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

  test.runIf(isLong)("that cannot succeed is refused before anything is written", async () => {
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
