// Tests of archives for every messaging store.
import { type Archive, type ArchiveChange, chunkKeys } from "@signet/kernel/messaging/archive"
import { hex } from "@signet/kernel/messaging/bytes"
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { MessagingDevice, Place } from "@signet/kernel/messaging/records"
import { expect, test } from "vitest"
import { newAudit, nowMs, place, putUser, random } from "../../../server/store/postgres/messaging/testing/world.ts"
import { freshId } from "../../../server/store/postgres/testing/people.ts"

export function archiveSuite(store: () => MessagingStore): void {
  const newDevice = async () => (await putUser(store())).devices[0] ?? expect.fail()
  const newBackup = (): Omit<ArchiveChange & { is: "create" }, "deviceId"> => ({
    ...{ is: "create", id: hex(random(16)), kind: "BACKUP", header: "aa" },
  })
  type Change = ArchiveChange extends infer One ? (One extends ArchiveChange ? Omit<One, "deviceId"> : never) : never
  const change = (by: MessagingDevice, wanted: Change, atMs = nowMs) =>
    store().archives.change(
      { userId: by.userId, place, change: { ...wanted, deviceId: by.id } },
      atMs,
      newAudit("archive.created"),
    )
  const changed = async (...of: Parameters<typeof change>): Promise<Archive> => {
    const done = await change(...of)
    return done.is === "refuse" ? expect.fail(done.reason) : done.archive
  }
  const listOf = ({ userId }: MessagingDevice, at: Place = place) => store().archives.ofUser(userId, at)

  test("are written under one lock: of two chunks with one index, one is appended", async () => {
    const device = await newDevice()
    const backup = newBackup()
    const { id } = await changed(device, backup)
    const append = (name: string) => change(device, { is: "append", id, index: 0, name, size: 10 })
    const names = ["a", "b", "c", "d"].map((one) => one.repeat(16))
    const all = await Promise.all(names.map(append))
    expect(all.map(({ is }) => is).toSorted()).toEqual(["change", "refuse", "refuse", "refuse"])
    const [stored] = await listOf(device)
    expect(stored).toMatchObject({ id, size: 10, status: "WRITING", header: "aa" })
    expect(names).toContain(stored?.chunks)
  })

  test("belong to one user of one place", async () => {
    const [ana, bea] = [await newDevice(), await newDevice()]
    const { id } = await changed(ana, newBackup())
    expect(await listOf(bea)).toEqual([])
    expect(await listOf(ana, { ...place, tenantId: freshId("ten") })).toEqual([])
    expect(await change(bea, { is: "delete", id })).toEqual({ is: "refuse", reason: "RESOURCE_UNRESOLVED" })
    expect(await listOf(ana)).toHaveLength(1)
  })

  test("are forgotten only when they are gone", async () => {
    const device = await newDevice()
    const of = { userId: device.userId, place }
    const { id } = await changed(device, newBackup())
    await changed(device, { is: "append", id, index: 0, name: "e".repeat(16), size: 10 })
    await store().archives.forget(of, id, nowMs)
    const [stored] = await listOf(device)
    expect(stored === undefined ? [] : chunkKeys(stored)).toEqual([`arc/${id}/0/${"e".repeat(16)}`])
    await changed(device, { is: "delete", id })
    await store().archives.forget(of, id, nowMs)
    expect(await listOf(device)).toEqual([])
  })
}
