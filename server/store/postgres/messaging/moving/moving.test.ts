import { readFile } from "node:fs/promises"
import type { AttachmentId } from "@signet/kernel/ids"
import type { PlaceMoves, StoredRecord } from "@signet/kernel/messaging/moving"
import { sql } from "kysely"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { isLong } from "../../../../../test/support/effort.ts"
import { fillPlace, tenantAt } from "../../../../../test/support/messaging-store/full-place.ts"
import { attemptsOn, held } from "../../../../../test/support/messaging-store/moving.ts"
import { describeStory, noPostgres, openTestStore, type TestStore } from "../../../../../test/support/postgres.ts"
import { sweepMessaging } from "../sweep.ts"
import { carry, counted, exported, movingOf, newTenant, step } from "../testing/moves.ts"
import { newAudit, newMessage, nowMs, random, signReceipt } from "../testing/world.ts"
import { sections } from "./sections.ts"

describeStory("moving a place", (kind) => {
  let source: TestStore
  let target: TestStore
  beforeAll(async () => {
    ;[source, target] = await Promise.all([openTestStore(kind), openTestStore(kind)])
  })
  afterAll(() => Promise.all([source.close(), target.close()]))

  test.runIf(isLong)("a place is exported in pages of any size, and the import is equal", async () => {
    const place = tenantAt(newTenant())
    const full = await fillPlace(source.messaging, place)
    const other = await fillPlace(source.messaging, tenantAt(newTenant()))
    const [from, to, transferId] = [movingOf(source), movingOf(target), random(16)]
    expect((await step(from, place, transferId, "HOLD")).state).toBe("HELD")
    expect((await step(to, place, transferId, "RECEIVE")).state).toBe("RECEIVING")
    const pages = await exported(from, place, transferId)
    const records = pages.flat()
    expect(new Set(records.map(({ is }) => is)).size, "a kind that the sample lacks").toBe(sections.length)
    expect(JSON.stringify(records, printable)).not.toContain(other.group.id)
    const small = await exported(from, place, transferId, 1)
    expect(small.every((page) => page.length <= 1)).toBe(true)
    expect(small.flat()).toEqual(records)

    await carry(to, place, transferId, small)
    // Again, in other pages.
    await carry(to, place, transferId, pages)
    expect(counted(await exported(to, place, transferId))).toEqual(counted(pages))
    await expect(target.messaging.devices.find(full.ana.id)).rejects.toMatchObject({ reason: "PLACE_HELD" })
    await expect(step(from, place, transferId, "RELEASE")).rejects.toMatchObject({ reason: "STATE_CONFLICT" })
    expect((await step(from, place, transferId, "FINISH")).state).toBe("GIVEN")
    await expect(step(from, place, transferId, "ABORT")).rejects.toMatchObject({ reason: "STATE_CONFLICT" })
    expect((await step(to, place, transferId, "FINISH")).state).toBe("OPEN")
    await expect(step(from, place, transferId, "ABORT")).rejects.toMatchObject({ reason: "STATE_CONFLICT" })
    expect((await step(from, place, transferId, "RELEASE")).state).toBe("MOVED")
    await expect(source.messaging.devices.find(full.ana.id)).rejects.toMatchObject({ reason: "PLACE_HELD" })
    await expect(source.messaging.devices.lists(full.ana.userId, place, 0n, 10)).rejects.toMatchObject({
      reason: "PLACE_HELD",
    })

    const { messaging } = target
    // An earlier append is answered as before, and the log continues.
    const again = await messaging.conversations.append(full.said, signReceipt, nowMs + 9, [])
    expect(again).toMatchObject({ is: "replayed", answer: { seq: 2n } })
    const next = await messaging.conversations.append(newMessage(full.group, full.bea), signReceipt, nowMs + 9, [])
    expect(next).toMatchObject({ is: "appended", answer: { seq: 4n } })
    expect((await messaging.devices.dueEffects(10)).map(({ deviceId }) => deviceId)).toEqual([full.old.id])
    const claimed = await messaging.keyPackages.claim(full.claim, nowMs, newAudit("key_package.claimed"))
    expect(claimed).toMatchObject({ is: "claimed", low: [] })
    expect(await messaging.proofNonces.use(full.ana.id, full.nonce, Date.now() + 1_000)).toBe(false)
    const { state } = full.group
    const tree = await messaging.conversations.tree(full.group.id, state?.treeHash ?? random(), 0)
    expect(tree).toMatchObject({ size: 1_000 })
    const created = await messaging.conversations.create(
      full.pair,
      { deviceId: full.ana.id, idempotencyKey: random(16), requestHash: random() },
      newAudit("conversation.created"),
    )
    expect(created).toMatchObject({ is: "there", conversation: { id: full.pair.id } })
    // The transfer that nobody granted did not move.
    expect(await messaging.archives.ofUser(full.bea.userId, place)).toEqual([full.backup])
  })

  test.runIf(isLong)("a place goes there and back, once what was moved away is erased", async () => {
    const place = tenantAt(newTenant())
    const full = await fillPlace(source.messaging, place)
    const [from, to] = [movingOf(source), movingOf(target)]
    const move = async (a: PlaceMoves, b: PlaceMoves) => {
      const transferId = random(16)
      await step(a, place, transferId, "HOLD")
      await step(b, place, transferId, "RECEIVE")
      await carry(b, place, transferId, await exported(a, place, transferId))
      await step(a, place, transferId, "FINISH")
      await step(b, place, transferId, "FINISH")
      await step(a, place, transferId, "RELEASE")
      return transferId
    }
    const there = await move(from, to)
    await expect(step(from, place, random(16), "RECEIVE")).rejects.toMatchObject({ reason: "STATE_CONFLICT" })
    let bytesDeleted: readonly AttachmentId[] = []
    const ids = new Set<string>()
    while (!(await from.status(place)).isEmpty) {
      const left = await from.erase({ place, transferId: there, bytesDeleted, audit: newAudit() })
      bytesDeleted = left.map(({ id }) => id)
      for (const id of bytesDeleted) ids.add(id)
    }
    expect([...ids].toSorted()).toEqual([full.whole.id, full.begunFile.id].toSorted())
    await move(to, from)
    const { messaging } = source
    const next = await messaging.conversations.append(newMessage(full.group, full.ana), signReceipt, nowMs + 9, [])
    expect(next).toMatchObject({ is: "appended", answer: { seq: 4n } })
  })

  test.runIf(isLong)("nothing is imported into an open place, and another place is unchanged", async () => {
    const place = tenantAt(newTenant())
    await fillPlace(source.messaging, place)
    const victims = tenantAt(newTenant())
    const victim = await fillPlace(target.messaging, victims)
    const [from, to, transferId] = [movingOf(source), movingOf(target), random(16)]
    await expect(step(to, victims, transferId, "RECEIVE")).rejects.toMatchObject({ reason: "STATE_CONFLICT" })
    await expect(to.importPage({ place: victims, transferId, records: [] })).rejects.toMatchObject({
      reason: "STATE_CONFLICT",
    })
    await step(from, place, transferId, "HOLD")
    await step(to, place, transferId, "RECEIVE")
    await expect(to.exportPage({ place, transferId: random(16), cursor: "", maxBytes: 1 })).rejects.toMatchObject({
      reason: "STATE_CONFLICT",
    })
    const records = (await exported(from, place, transferId)).flat()
    const forged = records.flatMap((record): StoredRecord[] => {
      switch (record.is) {
        case "device":
          return [{ ...record, device: { ...record.device, id: victim.ana.id } }]
        case "keyPackage":
          return [{ ...record, keyPackage: { ...record.keyPackage, deviceId: victim.ana.id } }]
        case "conversation":
          return [{ ...record, conversation: { ...record.conversation, id: victim.group.id } }]
        case "envelope":
        case "leaf":
        case "treeChunk":
        case "groupInfo":
        case "cursor":
          return [{ ...record, conversationId: victim.group.id }]
        case "welcome":
          return [{ ...record, welcome: { ...record.welcome, conversationId: victim.group.id } }]
        case "attachment":
          return [{ ...record, attachment: { ...record.attachment, conversationId: victim.group.id } }]
        default:
          return []
      }
    })
    expect(forged.length).toBeGreaterThan(10)
    for (const record of forged) {
      await expect(to.importPage({ place, transferId, records: [record] }), record.is).rejects.toMatchObject({
        reason: "INVALID_FIELD",
      })
    }
    expect((await to.status(place)).isEmpty).toBe(true)
  })

  test("steps are idempotent, and refused for another transfer", async () => {
    const place = tenantAt(newTenant())
    const full = await fillPlace(source.messaging, place)
    const [from, transferId, another] = [movingOf(source), random(16), random(16)]
    await expect(step(from, place, transferId, "FINISH")).rejects.toMatchObject({ reason: "STATE_CONFLICT" })
    expect(await from.status(place)).toMatchObject({ state: "OPEN", transferId: null })
    await step(from, place, transferId, "HOLD")
    expect((await step(from, place, transferId, "HOLD")).state).toBe("HELD")
    for (const name of ["HOLD", "RELEASE", "ABORT", "RECEIVE"] as const) {
      await expect(step(from, place, another, name)).rejects.toMatchObject({ reason: "STATE_CONFLICT" })
    }
    // The second ABORT is the first one's, repeated because its answer was lost.
    for (const _ of [1, 2]) {
      expect(await step(from, place, transferId, "ABORT")).toMatchObject({ state: "OPEN", transferId: null })
    }
    // A command that did not notice the abort must not open the target, too.
    await expect(step(from, place, transferId, "FINISH")).rejects.toMatchObject({ reason: "STATE_CONFLICT" })
    const sent = await source.messaging.conversations.append(newMessage(full.group, full.ana), signReceipt, nowMs, [])
    expect(sent.is).toBe("appended")
  })

  test("an invalid cursor is refused", async () => {
    const place = tenantAt(newTenant())
    const [from, transferId] = [movingOf(source), random(16)]
    await step(from, place, transferId, "HOLD")
    for (const cursor of [
      "x",
      "e30",
      Buffer.from("[1,99]").toString("base64url"),
      Buffer.from("[1,0,1]").toString("base64url"),
    ]) {
      await expect(from.exportPage({ place, transferId, cursor, maxBytes: 1 })).rejects.toMatchObject({
        reason: "INVALID_FIELD",
      })
    }
    expect(await exported(from, place, transferId)).toEqual([[]])
  })
})

const printable = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value)

describe("a place that is held", () => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(noPostgres === undefined ? "postgres" : "pglite")
  })
  afterAll(() => opened.close())

  test("refuses every write, answers every read, and records no attendance", async () => {
    const { messaging: store } = opened
    const place = tenantAt(newTenant())
    const full = await fillPlace(store, place)
    const transferId = random(16)
    const moving = movingOf(opened)
    await step(moving, place, transferId, "HOLD")
    const before = await exported(moving, place, transferId)
    for (const [name, { isWrite, run }] of attemptsOn(store, full)) {
      if (isWrite) await expect(run(), name).rejects.toMatchObject(held)
      else
        await expect(
          run().then(() => "answered"),
          name,
        ).resolves.toBe("answered")
    }
    // Nothing was deleted, and the sweep deletes nothing either.
    await sweepMessaging(opened.db, nowMs + 9e11)
    expect(counted(await exported(moving, place, transferId))).toEqual(counted(before))
  })

  test("every table of messaging is exported, or excluded with a reason", async () => {
    const { rows } = await sql<{ name: string }>`
      select table_name as name from information_schema.tables where table_schema = 'public'`.execute(opened.db)
    const page = await readFile(
      new URL("../../../../../docs/decisions/0023-moving-a-tenant.md", import.meta.url),
      "utf8",
    )
    const said = [...page.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, names = ""]) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    )
    const names = rows.map(({ name }) => name)
    expect(names.filter((name) => !notMessagings.has(name)).toSorted()).toEqual(said.toSorted())
    expect([...notMessagings].filter((name) => !names.includes(name))).toEqual([])
  })
})

/** Tables of the auth service and of the database itself. */
const notMessagings = new Set([
  "app",
  "audit_chain",
  "audit_checkpoint",
  "audit_checkpoint_head",
  "audit_data_key",
  "audit_event",
  "audit_link",
  "audit_pending",
  "audit_start",
  "authority_version",
  "client_assertion_use",
  "context",
  "delegation",
  "delegation_policy",
  "envelope_key",
  "id_token_use",
  "identity",
  "invitation",
  "issuer_key",
  "limit_refusal",
  "lockout",
  "magic_link_request",
  "membership",
  "migration_checksum",
  "migration_lease",
  "owned_audience",
  "password_hold",
  "pat",
  "permission",
  "policy_version",
  "principal",
  "provider_account",
  "provider_client",
  "rate_limit",
  "receipt_key",
  "refresh_token",
  "revocation",
  "revocation_log",
  "role",
  "role_grant",
  "sealing_key",
  "sealing_key_holder",
  "service_account",
  "service_key",
  "service_secret",
  "session",
  "signing_key",
  "signing_key_set",
  "tenant",
])
