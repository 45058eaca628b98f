import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import {
  adoptSealingKey,
  dropHolder,
  holderSeconds,
  holdSealingKeys,
  listHolders,
  listSealingKeys,
  lockHolders,
  markResealed,
  retireSealingKey,
  startSealingRotation,
} from "./sealing-keys.ts"

const stampSealed = Uint8Array.of(1, 0, 255)

describeOnEachStore("sealing keys", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterEach(async () => {
    await opened.db.deleteFrom("sealing_key").execute()
    await opened.db.deleteFrom("sealing_key_holder").execute()
  })
  afterAll(() => opened.close())

  const states = async () =>
    (await listSealingKeys(opened.db)).map(({ id, status, resealedAtMs }) => [id, status, resealedAtMs])

  test("the configured key is recorded only if no key is recorded", async () => {
    await adoptSealingKey(opened.db, "first", 1)
    await adoptSealingKey(opened.db, "second", 2)
    expect(await listSealingKeys(opened.db)).toEqual([
      { id: "first", status: "CURRENT", createdAtMs: 1, resealedAtMs: null, stampSealed: null },
    ])
  })

  test("a rotation, its resealing and its end change one key each", async () => {
    const { db } = opened
    await adoptSealingKey(db, "oldest", 1)
    await startSealingRotation(db, { from: "oldest", to: "older", stampSealed, nowMs: 2 })
    // Another key, or the one that seals: neither is resealed or retired.
    for (const id of ["older", "missing"]) {
      await markResealed(db, id, 3)
      await retireSealingKey(db, id, stampSealed)
    }
    expect(await states()).toEqual([
      ["oldest", "PREVIOUS", null],
      ["older", "CURRENT", null],
    ])
    await markResealed(db, "oldest", 4)
    await retireSealingKey(db, "oldest", Uint8Array.of(2))
    await startSealingRotation(db, { from: "older", to: "newest", stampSealed, nowMs: 5 })
    // A retired key stays as it was.
    await markResealed(db, "oldest", 6)
    await retireSealingKey(db, "oldest", stampSealed)
    expect(await states()).toEqual([
      ["oldest", "RETIRED", 4],
      ["older", "PREVIOUS", null],
      ["newest", "CURRENT", null],
    ])
    const [oldest, older] = await listSealingKeys(db)
    expect([oldest?.stampSealed, older?.stampSealed]).toEqual([Uint8Array.of(2), stampSealed])
  })

  test("a running process is listed until it ends, or has not reported for a minute, and is forgotten after a day", async () => {
    const { db } = opened
    for (const process of ["a", "b", "late", "gone"])
      await holdSealingKeys(db, process, { keyIds: [process], sealsWith: process })
    const seen = (process: string, secondsAgo: number) =>
      db
        .updateTable("sealing_key_holder")
        .set({ seen_at: new Date(Date.now() - secondsAgo * 1_000) })
        .where("process", "=", process)
        .execute()
    await seen("late", holderSeconds + 60)
    await seen("gone", 2 * 86_400)
    const listed = async () => (await listHolders(db)).map(({ sealsWith }) => sealsWith).toSorted()
    expect(await listed()).toEqual(["a", "b"])
    await holdSealingKeys(db, "a", { keyIds: ["other"], sealsWith: "other" })
    expect(await listHolders(db)).toContainEqual({ keyIds: ["a"], sealsWith: "other" })
    await dropHolder(db, "b")
    expect(await listed()).toEqual(["other"])
    await db.transaction().execute(lockHolders)
    const rows = await db.selectFrom("sealing_key_holder").select("process").orderBy("process").execute()
    expect(rows.map(({ process }) => process)).toEqual(["a", "late"])
  })
})
