import type { Store } from "@signet/kernel/ports"
import type { Membership, Principal } from "@signet/kernel/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { run } from "../sql.ts"
import { putOwnApp } from "../testing/administration.ts"
import { freshId, putApp, putPerson } from "../testing/people.ts"
import { endedUsers } from "./ended-users.ts"
import { changeOf, newDevice, newList, nowMs } from "./testing/world.ts"

describeOnEachStore("users who have devices at a place that they are gone from", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  /** A user with these memberships and a device, at an app of their own or a tenant of it. */
  async function userOf(
    memberships: readonly { at: "app" | "tenant" | "other tenant" | "context"; status?: Membership["status"] }[],
    { isAtTenant = false, status }: { isAtTenant?: boolean; status?: Principal["status"] } = {},
  ) {
    const person = await putPerson(store)
    const userId = person.principal.id
    const place = await store.transaction(async (tx) => {
      const { id: appId } = await putOwnApp(tx)
      const [tenantId, otherId] = [freshId("ten"), freshId("ten")]
      for (const { at, status = "ACTIVE" } of memberships) {
        const of = {
          app: {},
          tenant: { tenantId },
          "other tenant": { tenantId: otherId },
          context: { tenantId: isAtTenant ? tenantId : null, contextId: freshId("ctx") },
        }[at]
        await tx.identities.insertMembership({ ...person.membership, id: freshId("mem"), appId, status, ...of })
      }
      return { appId, tenantId: isAtTenant ? tenantId : null }
    })
    if (status === "LOCKED") {
      await store.transaction((tx) => tx.principals.lockUntil(userId, { expiresAtMs: 9, reason: "" }, 5))
    } else if (status !== undefined) {
      await run(opened.db, "update principal set status = $2 where id = $1", [userId, status])
    }
    const device = newDevice(userId, place)
    expect(await opened.messaging.devices.change(changeOf(device))).toBe("done")
    return { userId, place, device }
  }
  const isEnded = async (userId: Principal["id"]) =>
    (await endedUsers(opened.db, 1_000)).some((ended) => ended.userId === userId)

  const app = { at: "app" } as const
  const tenant = { at: "tenant" } as const
  test.each<[string, boolean, Parameters<typeof userOf>]>([
    ["a member of the app", false, [[app]]],
    ["a suspended member of the app", false, [[{ ...app, status: "SUSPENDED" }]]],
    ["a removed member of the app", true, [[{ ...app, status: "REMOVED" }]]],
    ["a member of another app alone", true, [[]]],
    ["a member of a tenant of the app alone", true, [[tenant]]],
    ["a member of a context of the app alone", true, [[{ at: "context" }]]],
    ["a locked user", false, [[app], { status: "LOCKED" }]],
    ["a suspended user", false, [[app], { status: "SUSPENDED" }]],
    ["a deactivated user", true, [[app], { status: "DEACTIVATED" }]],
    ["a member of the tenant", false, [[app, tenant], { isAtTenant: true }]],
    ["a suspended member of the tenant", false, [[app, { ...tenant, status: "SUSPENDED" }], { isAtTenant: true }]],
    ["a removed member of the tenant", true, [[app, { ...tenant, status: "REMOVED" }], { isAtTenant: true }]],
    ["a member of the tenant, but of the app no longer", true, [[tenant], { isAtTenant: true }]],
    ["a member of another tenant", true, [[app, { at: "other tenant" }], { isAtTenant: true }]],
    ["a member of a context of the tenant alone", true, [[app, { at: "context" }], { isAtTenant: true }]],
  ])("%s counts as ended: %s", async (_, isGone, person) => {
    const { userId } = await userOf(...person)
    expect(await isEnded(userId)).toBe(isGone)
  })

  test("the membership of another user at the same app does not count", async () => {
    const { userId, place } = await userOf([])
    const other = await putPerson(store)
    await store.transaction((tx) =>
      tx.identities.insertMembership({ ...other.membership, id: freshId("mem"), appId: place.appId }),
    )
    expect(await isEnded(userId)).toBe(true)
  })

  test("a user without an active device is not listed", async () => {
    const { userId, device } = await userOf([])
    const revoked = { ...device, status: "REVOKED" as const, revokedAtMs: nowMs }
    expect(await opened.messaging.devices.change(changeOf(revoked, { list: newList(2n) }))).toBe("done")
    expect(await isEnded(userId)).toBe(false)
  })

  test("a user without an active device is listed until the archives are deleted", async () => {
    const { userId, place, device } = await userOf([])
    const { archives, devices } = opened.messaging
    const of = { id: "ab".repeat(16), deviceId: device.id }
    const change = (wanted: { is: "create"; kind: "BACKUP"; header: string } | { is: "delete" }) =>
      archives.change({ userId, place, change: { ...wanted, ...of } }, nowMs, null)
    await change({ is: "create", kind: "BACKUP", header: "aa" })
    const revoked = { ...device, status: "REVOKED" as const, revokedAtMs: nowMs }
    expect(await devices.change(changeOf(revoked, { list: newList(2n) }))).toBe("done")
    expect(await isEnded(userId)).toBe(true)
    await change({ is: "delete" })
    expect(await isEnded(userId)).toBe(false)
  })

  test("a user of a place that is being moved is not listed until it is open again", async () => {
    const { userId, place } = await userOf([])
    const text = "insert into messaging_place (app_id, tenant_id, state) values ($1, '', 'HELD')"
    await run(opened.db, text, [place.appId])
    expect(await isEnded(userId)).toBe(false)
  })
})
