// Tokens that are not for messaging, at a service whose messaging has its own audience.
import { parseId } from "@signet/kernel/ids"
import { Device_Status } from "@signet/proto/messaging/v1/records"
import { type RawBuilder, sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import { clientsOver, protocols, refusal } from "../support/clients.ts"
import { addMachine, addPat, basic, postForm } from "../support/machines.ts"
import { newDevice } from "../support/messaging/device.ts"
import { deviceRequest, newLeafKey, placeOf } from "../support/messaging/device-parts.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { claimsOf } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
const [overConnect] = Object.values(protocols)
const connect = () => overConnect?.(server.url) ?? expect.fail()
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore, messagingAudience: "svc-messaging" })
})
afterAll(() => server?.close())

test("a token for another service is refused, and other services refuse a messaging token", async () => {
  const session = await server.person("ada")
  const device = await newDevice(connect(), session)
  await device.register()
  expect((await device.calls.devices.listDevices({})).devices).toHaveLength(1)
  const forAuth = await server.person("ada", { audience: "auth" })
  device.credentials.token = forAuth.accessToken
  expect(await refusal(device.calls.devices.listDevices({}))).toBe("Unauthenticated AUDIENCE_MISMATCH")
  const { auth } = clientsOver(connect())
  const headers = { authorization: `Bearer ${session.accessToken}` }
  expect(await refusal(auth.me({}, { headers }))).toBe("Unauthenticated AUDIENCE_MISMATCH")
})

test.each<[string, string, (id: { userId: string; session: string }) => RawBuilder<unknown>]>([
  [
    "who is suspended",
    "PRINCIPAL_INACTIVE",
    ({ userId }) => sql`update principal set status = 'SUSPENDED' where id = ${userId}`,
  ],
  [
    "whose membership is suspended",
    "MEMBERSHIP_INACTIVE",
    ({ userId }) => sql`update membership set status = 'SUSPENDED' where principal_id = ${userId}`,
  ],
  [
    "whose session has ended",
    "SESSION_REVOKED",
    ({ session }) => sql`update session set status = 'REVOKED', revoked_at = now() where id = ${session}`,
  ],
])("a user %s writes and reads nothing with a token and a device that are still good", async (who, reason, end) => {
  const [ada, bob] = [
    await newDevice(connect(), await server.person(who)),
    await newDevice(connect(), await server.person("bea")),
  ]
  await ada.register()
  await bob.register()
  await bob.upload(2)
  const room = await ada.createGroup([bob.userId])
  const message = await ada.stageText(room, "still here")
  const session = String(claimsOf(ada.session.accessToken).sid)
  await end({ userId: ada.userId, session }).execute(server.store.db)
  const { conversations } = ada.calls
  expect(await refusal(ada.append(message))).toContain(reason)
  expect(await refusal(conversations.listMessages({ conversationId: room.id }))).toContain(reason)
  expect(await refusal(ada.upload(1))).toContain(reason)
})

test("a personal access token neither registers a device nor revokes one", async () => {
  const session = await server.person("pat")
  const device = await newDevice(connect(), session)
  await device.register()
  const claims = claimsOf(session.accessToken)
  const owner = {
    principalId: parseId("prn", session.userId) ?? expect.fail(),
    identityId: parseId("idn", String(claims.identity_id)) ?? expect.fail(),
  }
  const scopes = ["messaging.read", "messaging.write"]
  const { token } = await addPat(server, owner, { allowedAudiences: ["svc-messaging"], scopes })
  const { accessToken } = await clientsOver(connect()).pats.exchangePat({ pat: token })
  const by = await newDevice(connect(), { ...session, accessToken })
  const { devices } = by.calls
  expect((await devices.listDevices({})).devices.map(({ id }) => id)).toEqual([device.id])
  // Refused before the request is read, and so before it is counted.
  const deviceRequest = new Uint8Array(1)
  const refused = "PermissionDenied PRINCIPAL_KIND_NOT_ALLOWED"
  expect(await refusal(devices.registerDevice({ deviceRequest }))).toBe(refused)
  expect(await refusal(by.register())).toBe(refused)
  expect(await refusal(devices.revokeDevice({ deviceId: device.id }))).toBe(refused)
  // Nor does it block a user, or see whom its user blocks.
  const { blocks } = by.calls
  const other = { userId: (await server.person("blocked")).userId }
  expect(await refusal(blocks.blockUser(other))).toBe("Unauthenticated DEVICE_REQUIRED")
  expect(await refusal(blocks.unblockUser(other))).toBe("Unauthenticated DEVICE_REQUIRED")
  expect(await refusal(blocks.listBlockedUsers({}))).toBe("Unauthenticated DEVICE_REQUIRED")
  // A token of a personal access token belongs to no device.
  expect(await refusal(by.calls.conversations.resubmitMessages({}))).toBe("Unauthenticated DEVICE_REQUIRED")
  expect((await device.calls.devices.listDevices({})).devices[0]?.status).toBe(Device_Status.ACTIVE)
})

test("a service account neither blocks nor can be blocked", async () => {
  const scopes = ["messaging.read", "messaging.write"]
  const machine = await addMachine(server, { scopes, allowedAudiences: ["svc-messaging"] })
  const form = { grant_type: "client_credentials", audience: "svc-messaging", scope: scopes.join(" ") }
  const { body } = await postForm(`${server.url}/auth/token`, form, basic(machine))
  const session = await server.person("blocker")
  const device = await newDevice(connect(), session)
  await device.register()
  const { blocks } = (await newDevice(connect(), { ...session, accessToken: String(body.access_token) })).calls
  const other = { userId: session.userId }
  expect(await refusal(blocks.blockUser(other))).toBe("Unauthenticated DEVICE_REQUIRED")
  expect(await refusal(blocks.unblockUser(other))).toBe("Unauthenticated DEVICE_REQUIRED")
  expect(await refusal(blocks.listBlockedUsers({}))).toBe("Unauthenticated DEVICE_REQUIRED")
  const { principalId: userId } = machine.account
  expect(await refusal(device.calls.blocks.blockUser({ userId }))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
})

test("a token without the scopes is refused", async () => {
  const app = { ...server.app, audiences: [...server.app.audiences, "svc-messaging"] }
  const session = await server.person("bob")
  const device = await newDevice(connect(), session)
  await server.store.store.transaction((tx) => tx.apps.putApp(app))
  device.credentials.token = await session.refresh()
  expect(await refusal(device.register())).toBe("PermissionDenied MISSING_SCOPE")
  expect(await refusal(device.calls.devices.listDevices({}))).toBe("PermissionDenied MISSING_SCOPE")
})

test("a caller without a token can read only the issuer's keys and the limits", async () => {
  const device = await newDevice(connect(), await server.person("cleo"))
  const place = placeOf(device.credentials.token ?? "")
  device.credentials.token = undefined
  expect((await device.calls.devices.getIssuerKeys({})).issuerKeySet.length).toBeGreaterThan(0)
  expect((await device.calls.conversations.getLimits({})).limits?.devicesPerUser).toBe(16)
  const request = { deviceRequest: await deviceRequest(newLeafKey(), place, device.userId) }
  expect(await refusal(device.calls.devices.registerDevice(request))).toBe("Unauthenticated NO_CREDENTIAL")
})
