// A messaging backend in another deployment: its only key is for receipts, and it has no table of users. The auth
// service decides for it, with the caller's token.
import { decode } from "@signet/canonical/canonical"
import { hash } from "@signet/canonical/hash"
import { parseSigned } from "@signet/canonical/signed"
import { newId, parseId } from "@signet/kernel/ids"
import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { MembershipProofBodyV1Schema } from "@signet/proto/credential/v1/policy_proof"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { endDevicesOf } from "../../server/rpc/messaging/device/end-user.ts"
import { PermanentlyRefused } from "../../server/store/durable/effects.ts"
import { refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { type BackendElsewhere, startBackendElsewhere } from "../support/messaging/backend-elsewhere.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { newLeafKey, randomBytes } from "../support/messaging/device-parts.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import type { SignedIn } from "../support/messaging/world.ts"
import { claimsOf } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let backend: BackendElsewhere
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  backend = await startBackendElsewhere(server)
})
afterAll(async () => {
  await server?.close()
  expect(backend.faults).toEqual([])
})

async function registered(session?: SignedIn): Promise<TestDevice> {
  const device = await newDevice(backend.transport, session ?? (await server.person(crypto.randomUUID())))
  await device.register()
  await device.upload(4)
  return device
}
const userIdOf = (device: TestDevice) => parseId("prn", device.userId) ?? expect.fail()
const sessionIdOf = (session: SignedIn) => parseId("ses", String(claimsOf(session.accessToken).sid)) ?? expect.fail()
const place = () => ({ appId: server.app.id, tenantId: null })
const statusOf = async (session: SignedIn) => (await backend.auth.accounts.findSession(sessionIdOf(session)))?.state

test("people use it with credentials of the auth service and receipts under a key that the root certifies", async () => {
  const [alice, bob] = [await registered(), await registered()]
  expect(claimsOf(alice.session.accessToken).did).toBe(alice.id)
  const room = await alice.createGroup([bob.userId])
  const [bobs = expect.fail()] = await bob.join()
  await alice.send(room, "hello")
  await bob.sync(bobs)
  expect(bobs.read.map(({ text }) => text)).toEqual(["hello"])
  const purposes = [...alice.issuerKeys.keys.values()].map(({ purpose }) => purpose)
  expect(purposes.filter((purpose) => purpose === KeyPurpose.RECEIPT)).toHaveLength(2)
  // The auth service's own tables contain none of it.
  const { devices } = await server.store.messaging.devices.ofUser(userIdOf(alice), place())
  expect(devices).toEqual([])
})

test.runIf(isLong)("a device with a renewed credential still proves changes with its current leaf", async () => {
  const [alice, bob, carol] = [await registered(), await registered(), await registered()]
  const room = await alice.createGroup([bob.userId])
  const before = hash("device-credential", alice.identity.credential)
  await alice.renew(newLeafKey())
  const { proof } = await alice.authorizeAdd(room, { userIds: [carol.userId], deviceIds: [] })
  const { requester } = decode(MembershipProofBodyV1Schema, parseSigned(MembershipProofBodyV1Schema, proof).body)
  expect(requester).toEqual(before)
})

test.runIf(isLong)("a session has one device, and a revoked device's sessions end", async () => {
  const session = await server.person(crypto.randomUUID())
  const phone = await registered(session)
  const laptop = await registered(await session.again())
  const both = await newDevice(backend.transport, await session.again())
  await both.register(phone.key)
  expect(both.id).toBe(phone.id)
  expect(claimsOf(both.session.accessToken).did).toBe(phone.id)
  await laptop.calls.devices.revokeDevice({ deviceId: phone.id })
  expect(await statusOf(phone.session)).toBe("REVOKED")
  expect(await statusOf(both.session)).toBe("REVOKED")
  expect(await statusOf(laptop.session)).toBe("ACTIVE")
  expect(await refusal(phone.session.refresh())).toMatch(/^Unauthenticated/)
  // Services that verify tokens themselves read it in the feed.
  const told = await server.store.db
    .selectFrom("revocation")
    .select("key")
    .where("key", "=", sessionIdOf(phone.session))
    .execute()
  expect(told).toHaveLength(1)
})

test("a session's next device replaces the previous one", async () => {
  const session = await server.person(crypto.randomUUID())
  const first = await registered(session)
  const second = await newDevice(backend.transport, session)
  await second.register()
  expect(claimsOf(session.accessToken).did).toBe(second.id)
  const { devices } = await second.calls.devices.listDevices({})
  expect(devices.map(({ id, status }) => [id, status])).toEqual([
    [second.id, 1],
    [first.id, 2],
  ])
  expect(await statusOf(session)).toBe("ACTIVE")
})

describe("a deleted user", () => {
  const setStatus = (device: TestDevice, status: "SUSPENDED" | "DEACTIVATED") =>
    server.store.db.updateTable("principal").set({ status }).where("id", "=", userIdOf(device)).execute()

  test.runIf(isLong)(
    "is distinguished from a suspended one, and only a deleted user's devices end without a request",
    async () => {
      const [gone, suspended, active] = [await registered(), await registered(), await registered()]
      await setStatus(gone, "DEACTIVATED")
      await setStatus(suspended, "SUSPENDED")
      const ids = [gone, suspended, active].map(userIdOf)
      expect(await backend.auth.accounts.activeUsers(ids, place())).toEqual([userIdOf(active)])
      expect(await backend.auth.effects.goneUsers(ids, place())).toEqual([userIdOf(gone)])
      expect(await endDevicesOf(backend.deps, userIdOf(gone), place())).toEqual([gone.id])
      expect(await statusOf(gone.session)).toBe("REVOKED")
      for (const other of [suspended, active]) {
        const ending = endDevicesOf(backend.deps, userIdOf(other), place())
        await expect(ending).rejects.toMatchObject({ reason: "INTERNAL" })
        expect(await statusOf(other.session)).toBe("ACTIVE")
      }
    },
  )
})

test("a repeated event is in the audit once", async () => {
  const { id, userId } = await registered()
  const event = eventOf(id, userId)
  await backend.auth.effects.audit([event])
  await Promise.all([backend.auth.effects.audit([event, event]), backend.auth.accounts.audit([event])])
  expect(await keptOf(id)).toEqual([event])
})

test("an event that is too old is refused permanently, other events of the call are stored, and one that is too new waits", async () => {
  const { id, userId } = await registered()
  const day = 86_400_000
  const [old, fresh, early] = [-32 * day, 0, day].map((ms) => eventOf(id, userId, ms)) as [Event, Event, Event]
  await expect(backend.auth.effects.audit([old, fresh])).rejects.toBeInstanceOf(PermanentlyRefused)
  expect(await keptOf(id)).toEqual([fresh])
  const refused = backend.auth.effects.audit([early]).catch((fault: unknown) => fault)
  expect(await refused).not.toBeInstanceOf(PermanentlyRefused)
  // A corrected service account is tried again.
  const elsewhere = { ...eventOf(id, userId), appId: newId("app", server.deps.clock.nowMs(), new Uint8Array(10)) }
  const misplaced = backend.auth.effects.audit([elsewhere]).catch((fault: unknown) => fault)
  expect(await misplaced).not.toBeInstanceOf(PermanentlyRefused)
})

async function keptOf(targetId: string) {
  const filter = { appId: server.app.id, tenantId: null, contextId: null, kinds: [], outcome: null, principalId: null }
  const rest = { targetType: "device", targetId, fromMs: null, untilMs: null }
  return server.deps.store.transaction((tx) => tx.audit.list({ ...filter, ...rest }, { size: 10, before: null }))
}

function eventOf(deviceId: string, userId: string, ms = 0) {
  const nowMs = server.deps.clock.nowMs()
  return {
    id: newId("aud", nowMs, randomBytes(10)),
    occurredAtMs: nowMs + ms,
    kind: "device.registered",
    outcome: "SUCCESS",
    reason: null,
    ...place(),
    contextId: null,
    actorPrincipalId: parseId("prn", userId) ?? null,
    subjectPrincipalId: null,
    subjectIdentityId: null,
    sessionId: null,
    target: { type: "device", id: deviceId },
    request: { id: "r-1", route: "signet.messaging.v1.DeviceService/RegisterDevice", ipTruncated: "192.0.2.0/24" },
  } as const
}
type Event = ReturnType<typeof eventOf>

test.runIf(isLong)("without the auth service no operation is written in part", async () => {
  const [alice, bob] = [await registered(), await registered()]
  const room = await alice.createGroup([bob.userId])
  const newcomer = await newDevice(backend.transport, await server.person(crypto.randomUUID()))
  backend.isCutOff = true
  try {
    const unavailable = "Unavailable UNAVAILABLE"
    expect(await refusal(newcomer.register())).toBe(unavailable)
    expect(await refusal(alice.renew(newLeafKey()))).toBe(unavailable)
    expect(await refusal(alice.authorizeRemove(room, { userIds: [bob.userId], deviceIds: [] }))).toBe(unavailable)
    // A call without a credential continues to work.
    await alice.send(room, "still here")
  } finally {
    backend.isCutOff = false
    backend.faults.length = 0
  }
  expect((await backend.deps.store.devices.ofUser(userIdOf(newcomer), place())).devices).toEqual([])
  await newcomer.register()
  expect(claimsOf(newcomer.session.accessToken).did).toBe(newcomer.id)
})
