// A message wakes up a device that is not connected. The push provider learns the endpoint, the operator and the time.
import { createPublicKey, verify } from "node:crypto"
import type { SessionId } from "@signet/kernel/ids"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { failureOf } from "../../clients/core/errors.ts"
import { PushKind } from "../../gen/es/signet/messaging/v1/push_service_pb.ts"
import { pushLimits } from "../../server/kernel/messaging/push.ts"
import { run } from "../../server/store/postgres/sql.ts"
import { isLong, sample } from "../support/effort.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"
import { type FakePushProvider, pushSettings, startFakePushProvider } from "../support/push-provider.ts"

let server: MessagingServer
let provider: FakePushProvider

beforeAll(async () => {
  provider = await startFakePushProvider()
  server = await startMessagingServer({ store: storyStore, push: pushSettings() })
})
afterAll(async () => {
  await server?.close()
  await provider?.close()
})
beforeEach(() => void provider.received.splice(0))

let people = 0

async function deviceOf(on: MessagingServer = server): Promise<TestDevice> {
  const device = await newDevice(on.transport, await on.person(`person ${people++}`))
  await device.register()
  await device.upload(3)
  return device
}

/** Two users in a conversation; the second has an endpoint. */
async function pair(kind: PushKind = PushKind.WEB_PUSH) {
  const [ann, ben] = [await deviceOf(), await deviceOf()]
  const room = await ann.createDirect(ben.userId)
  const path = `/sub/${people++}`
  const { registrationId } = await ben.calls.pushes.setPushEndpoint({ kind, url: `${provider.url}${path}` })
  const pushed = () => provider.received.filter((push) => push.path === path)
  return { ann, ben, room, path, pushed, registrationId }
}

let advancedMs = 0
function advance(ms: number): void {
  advancedMs += ms
  server.advance(ms)
}
// Devices sign by the real time, which the server must not leave behind.
afterEach(() => {
  server.advance(-advancedMs)
  advancedMs = 0
})

/** Ends the device's interval, and the delay after it. */
const pass = () => advance(pushLimits.everyMs + pushLimits.jitterMs)
const count = (of: () => unknown[], expected: number) => expect.poll(() => of().length).toBe(expected)
const stored = async (deviceId: string) =>
  run<{ due_at: Date | null; not_before: Date }>(
    server.store.db,
    "select due_at, not_before from push_endpoint where device_id = $1",
    [deviceId],
  )
const isStored = (deviceId: string, expected: boolean) =>
  expect.poll(async () => (await stored(deviceId)).length).toBe(expected ? 1 : 0)
const refusal = (call: Promise<unknown>) =>
  call.then(
    () => "none",
    (error: unknown) => failureOf(error)?.reason,
  )

test("a message sends one push without content, signed for the provider", async () => {
  const { ann, ben, room, path, pushed } = await pair()
  await ann.send(room, "the secret word")
  pass()
  await count(pushed, 1)
  const [push] = pushed()
  expect(push?.body).toHaveLength(0)
  const { authorization = "", host: _, connection: __, ...headers } = push?.headers ?? {}
  expect(headers).toEqual({ "content-length": "0", topic: "signet", ttl: "86400" })
  const [, header = "", claims = "", signature = "", key] =
    /^vapid t=(.+)\.(.+)\.(.+), k=(.+)$/.exec(authorization) ?? []
  expect(JSON.parse(Buffer.from(header, "base64url").toString())).toEqual({ typ: "JWT", alg: "ES256" })
  expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toEqual({
    aud: provider.url,
    exp: expect.any(Number),
    sub: "mailto:operator@auth.example",
  })
  const { publicKey, kinds } = await ben.calls.pushes.getPushSettings({})
  expect(kinds).toEqual([PushKind.WEB_PUSH, PushKind.WEBHOOK])
  expect(Buffer.from(publicKey).toString("base64url")).toBe(key)
  expect(isSigned(publicKey, Buffer.from(`${header}.${claims}`), Buffer.from(signature, "base64url"))).toBe(true)
  // Neither a user nor a device nor a conversation is named: the request differs by its time and signature only.
  const text = `${path}${JSON.stringify(push?.headers)}${claims && Buffer.from(claims, "base64url").toString()}`
  for (const named of [ann.userId, ben.userId, ben.id, room.id, "secret"]) expect(text).not.toContain(named)
})

test.runIf(isLong)("messages within 5 seconds send one push, and then one more", async () => {
  const { ann, room, pushed, ben } = await pair()
  const fromMs = server.deps.clock.nowMs()
  await ann.send(room, "one")
  pass()
  await count(pushed, 1)
  const [after] = await stored(ben.id)
  expect(after?.not_before.getTime()).toBeGreaterThanOrEqual(fromMs + pushLimits.everyMs)
  for (const text of ["two", "three", "four"]) await ann.send(room, text)
  const [waiting] = await stored(ben.id)
  expect(waiting?.due_at?.getTime()).toBeGreaterThanOrEqual(after?.not_before.getTime() ?? Number.NaN)
  pass()
  await count(pushed, 2)
  expect((await stored(ben.id))[0]?.due_at).toBeNull()
})

test.runIf(isLong)("the sender's user gets no push, and a new member does", async () => {
  const { ben, room, pushed } = await pair()
  await ben.sync(room)
  await ben.send(room, "to ann")
  const cid = await deviceOf()
  await cid.calls.pushes.setPushEndpoint({ kind: PushKind.WEB_PUSH, url: `${provider.url}/cid` })
  await ben.createGroup([cid.userId])
  pass()
  await count(() => provider.received.filter(({ path }) => path === "/cid"), 1)
  expect(pushed()).toEqual([])
  expect((await stored(ben.id))[0]?.due_at).toBeNull()
})

test.runIf(isLong)("an endpoint whose host is no longer listed gets no push and is deleted", async () => {
  const { ann, ben, room, path, pushed } = await pair()
  const url = `${provider.url.replace("127.0.0.1", "localhost")}${path}`
  await run(server.store.db, "update push_endpoint set url = $2 where device_id = $1", [ben.id, url])
  await ann.send(room, "nobody")
  pass()
  await isStored(ben.id, false)
  expect(pushed()).toEqual([])
})

test.runIf(isLong)("a device that deletes its endpoint and sets another gets no more pushes", async () => {
  const { ben, path } = await pair()
  const fromMs = server.deps.clock.nowMs()
  await ben.calls.pushes.deletePushEndpoint({})
  await ben.calls.pushes.setPushEndpoint({ kind: PushKind.WEB_PUSH, url: `${provider.url}${path}` })
  const [endpoint] = await stored(ben.id)
  expect(endpoint?.not_before.getTime()).toBeGreaterThanOrEqual(fromMs + pushLimits.everyMs)
})

test.each(sample(1, [404, 410]))("a provider's %i deletes the endpoint", async (status) => {
  const { ann, ben, room, pushed } = await pair()
  provider.answer({ status })
  await ann.send(room, "gone")
  pass()
  await isStored(ben.id, false)
  expect(pushed()).toHaveLength(1)
})

test("a webhook gets 64 signed bytes with the id of the registration", async () => {
  const { ann, ben, room, pushed, registrationId } = await pair(PushKind.WEBHOOK)
  await ann.send(room, "the secret word")
  pass()
  await count(pushed, 1)
  const [push] = pushed()
  expect(push?.body).toHaveLength(64)
  expect(push?.body.subarray(0, 16).toString()).toBe("signet push v1\0\0")
  expect(Buffer.compare(push?.body.subarray(16, 32) ?? Buffer.alloc(0), registrationId)).toBe(0)
  const { publicKey } = await ben.calls.pushes.getPushSettings({})
  const signature = Buffer.from(String(push?.headers["signet-signature"]), "base64url")
  expect(isSigned(publicKey, push?.body ?? Buffer.alloc(0), signature)).toBe(true)
  const again = await ben.calls.pushes.setPushEndpoint({ kind: PushKind.WEBHOOK, url: `${provider.url}/again` })
  expect(Buffer.compare(again.registrationId, registrationId)).not.toBe(0)
})

test.runIf(isLong)("the endpoint ends with the device, with the session, and by a call", async () => {
  const revoked = await pair()
  await revoked.ben.calls.devices.revokeDevice({ deviceId: revoked.ben.id })
  await isStored(revoked.ben.id, false)

  const deleted = await pair()
  await deleted.ben.calls.pushes.deletePushEndpoint({})
  await deleted.ben.calls.pushes.deletePushEndpoint({})
  await isStored(deleted.ben.id, false)

  const ended = await pair()
  const [{ id } = expect.fail()] = await run<{ id: SessionId }>(
    server.store.db,
    "select id from session where bound_device_id = $1",
    [ended.ben.id],
  )
  await server.deps.store.transaction((tx) => tx.sessions.end(id, "REVOKED", "logout", server.deps.clock.nowMs()))
  expect(await stored(ended.ben.id)).toEqual([])
  expect(provider.received).toEqual([])
})

test.runIf(isLong)("an endpoint whose session has expired gets no push and is deleted", async () => {
  const { ann, ben, room, pushed } = await pair()
  await run(server.store.db, "update session set idle_expires_at = now() where bound_device_id = $1", [ben.id])
  await ann.send(room, "nobody")
  pass()
  await isStored(ben.id, false)
  expect(pushed()).toEqual([])
})

test("setting and deleting an endpoint are in the audit, without its URL", async () => {
  const { ben, path } = await pair()
  await ben.calls.pushes.deletePushEndpoint({})
  const events = await run<{ kind: string; session_id: string }>(
    server.store.db,
    "select * from audit_event where target_id = $1 and kind like 'push_endpoint.%' order by id",
    [ben.id],
  )
  expect(events.map(({ kind }) => kind).toSorted()).toEqual(["push_endpoint.deleted", "push_endpoint.set"])
  expect(events.every(({ session_id }) => session_id.startsWith("ses_"))).toBe(true)
  expect(JSON.stringify(events)).not.toContain(path)
})

test.each([
  ["the operator's network", "https://10.0.0.1/a"],
  ["a cloud's metadata", "http://169.254.169.254/latest/meta-data"],
  ["loopback by another name", "http://localhost/a"],
  ["IPv6 loopback", "http://[::1]/a"],
  ["a host that is not listed", "https://evil.example/a"],
  ["a listed host as the user", "http://127.0.0.1@evil.example/a"],
  ["a file", "file:///etc/passwd"],
])("an endpoint at %s is refused", async (_, url) => {
  const ben = await deviceOf()
  expect(await refusal(ben.calls.pushes.setPushEndpoint({ kind: PushKind.WEB_PUSH, url }))).toBe("INVALID_FIELD")
  await isStored(ben.id, false)
})

test("pushes are disabled unless the operator enables them", async () => {
  const plain = await startMessagingServer({ store: storyStore })
  try {
    const ben = await deviceOf(plain)
    expect(await ben.calls.pushes.getPushSettings({})).toMatchObject({ kinds: [], publicKey: new Uint8Array() })
    const url = `${provider.url}/a`
    expect(await refusal(ben.calls.pushes.setPushEndpoint({ kind: PushKind.WEB_PUSH, url }))).toBe("INVALID_FIELD")
    await ben.calls.pushes.deletePushEndpoint({})
  } finally {
    await plain.close()
  }
})

test.runIf(isLong)("429 waits as asked, and 5xx is retried", async () => {
  const { ann, ben, room, pushed } = await pair()
  provider.answer({ status: 429, retryAfter: "600" }, { status: 503 })
  await ann.send(room, "busy")
  pass()
  await count(pushed, 1)
  const nowMs = server.deps.clock.nowMs()
  await expect.poll(async () => (await stored(ben.id))[0]?.due_at?.getTime() ?? 0).toBeGreaterThan(nowMs + 500_000)
  advance(600_000 + pushLimits.jitterMs)
  await count(pushed, 2)
  await expect.poll(async () => (await stored(ben.id))[0]?.due_at ?? null).not.toBeNull()
  advance(pushLimits.retryMs + pushLimits.jitterMs)
  await count(pushed, 3)
  await isStored(ben.id, true)
})

function isSigned(publicKey: Uint8Array, bytes: Buffer, signature: Buffer): boolean {
  const [x, y] = [publicKey.subarray(1, 33), publicKey.subarray(33)].map((part) =>
    Buffer.from(part).toString("base64url"),
  )
  const key = createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" })
  return verify("sha256", bytes, { key, dsaEncoding: "ieee-p1363" }, signature)
}
