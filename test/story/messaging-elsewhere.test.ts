// A messaging backend that runs elsewhere has no key but that for its receipts, and no table of people: what it needs of
// both it is told by the auth service, for whoever calls it.
import { decode } from "@signet/canonical/canonical"
import { hash } from "@signet/canonical/hash"
import { parseSigned } from "@signet/canonical/signed"
import { parseId } from "@signet/kernel/ids"
import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { MembershipProofBodyV1Schema } from "@signet/proto/credential/v1/policy_proof"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { endDevicesOf } from "../../server/rpc/messaging/end-user.ts"
import { refusal } from "../support/clients.ts"
import { type BackendElsewhere, startBackendElsewhere } from "../support/messaging/backend-elsewhere.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { newLeafKey } from "../support/messaging/papers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import type { SignedIn } from "../support/messaging/world.ts"
import { claimsOf } from "../support/people.ts"

let server: MessagingServer
let backend: BackendElsewhere
beforeAll(async () => {
  server = await startMessagingServer({ store: "pglite" })
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

test("people meet on it: papers of the auth service's, and receipts under a key that the root has named", async () => {
  const [alice, bob] = [await registered(), await registered()]
  expect(claimsOf(alice.session.accessToken).did).toBe(alice.id)
  const room = await alice.createGroup([bob.userId])
  const [bobs = expect.fail()] = await bob.join()
  await alice.send(room, "hello")
  await bob.sync(bobs)
  expect(bobs.read.map(({ text }) => text)).toEqual(["hello"])
  const purposes = [...alice.issuerKeys.keys.values()].map(({ purpose }) => purpose)
  expect(purposes.filter((purpose) => purpose === KeyPurpose.RECEIPT)).toHaveLength(2)
  // Nothing of it is in the auth service's own tables.
  const { devices } = await server.store.messaging.devices.ofUser(userIdOf(alice), place())
  expect(devices).toEqual([])
})

test("a device that has renewed its credential still proves changes with the leaf that it has", async () => {
  const [alice, bob, carol] = [await registered(), await registered(), await registered()]
  const room = await alice.createGroup([bob.userId])
  const before = hash("device-credential", alice.identity.credential)
  await alice.renew(newLeafKey())
  const { proof } = await alice.authorizeAdd(room, { userIds: [carol.userId], deviceIds: [] })
  const { requester } = decode(MembershipProofBodyV1Schema, parseSigned(MembershipProofBodyV1Schema, proof).body)
  expect(requester).toEqual(before)
})

test("a session has one device, and a revoked device's sessions end", async () => {
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
  // Whoever verifies tokens by themselves reads it in the feed.
  const told = await server.store.db
    .selectFrom("revocation")
    .select("key")
    .where("key", "=", sessionIdOf(phone.session))
    .execute()
  expect(told).toHaveLength(1)
})

test("a session's next device takes the place of the one before", async () => {
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

describe("who is gone", () => {
  const setStatus = (device: TestDevice, status: "SUSPENDED" | "DEACTIVATED") =>
    server.store.db.updateTable("principal").set({ status }).where("id", "=", userIdOf(device)).execute()

  test("is told from who is suspended, and only then nobody has to ask for the end of their devices", async () => {
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
  })
})

test("an event that is said again is in the audit once", async () => {
  const { id, userId } = await registered()
  const eventId = `aud_${"0".repeat(25)}a`
  const event = {
    id: parseId("aud", eventId) ?? expect.fail(),
    occurredAtMs: server.deps.clock.nowMs(),
    kind: "device.registered",
    outcome: "SUCCESS",
    reason: null,
    ...place(),
    contextId: null,
    actorPrincipalId: parseId("prn", userId) ?? null,
    subjectPrincipalId: null,
    subjectIdentityId: null,
    sessionId: null,
    target: { type: "device", id },
    request: { id: "r-1", route: "signet.messaging.v1.DeviceService/RegisterDevice", ipTruncated: "192.0.2.0/24" },
  } as const
  await backend.auth.effects.audit([event])
  await Promise.all([backend.auth.effects.audit([event, event]), backend.auth.accounts.audit([event])])
  const filter = { appId: server.app.id, tenantId: null, contextId: null, kinds: [], outcome: null, principalId: null }
  const rest = { targetType: "device", targetId: id, fromMs: null, untilMs: null }
  const kept = await server.deps.store.transaction((tx) =>
    tx.audit.list({ ...filter, ...rest }, { size: 10, before: null }),
  )
  expect(kept).toEqual([event])
})

test("while the auth service is away nothing is half done", async () => {
  const [alice, bob] = [await registered(), await registered()]
  const room = await alice.createGroup([bob.userId])
  const newcomer = await newDevice(backend.transport, await server.person(crypto.randomUUID()))
  backend.isCutOff = true
  try {
    const unavailable = "Unavailable UNAVAILABLE"
    expect(await refusal(newcomer.register())).toBe(unavailable)
    expect(await refusal(alice.renew(newLeafKey()))).toBe(unavailable)
    expect(await refusal(alice.authorizeRemove(room, { userIds: [bob.userId], deviceIds: [] }))).toBe(unavailable)
    // What needs no paper goes on.
    await alice.send(room, "still here")
  } finally {
    backend.isCutOff = false
    backend.faults.length = 0
  }
  expect((await backend.deps.store.devices.ofUser(userIdOf(newcomer), place())).devices).toEqual([])
  await newcomer.register()
  expect(claimsOf(newcomer.session.accessToken).did).toBe(newcomer.id)
})
