// Attacks on the Worker on workerd, by strangers, members and holders of stolen tokens.
import { ConnectError } from "@connectrpc/connect"
import { newId } from "@signet/kernel/ids"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { ReportForkRequest_Fault } from "@signet/proto/messaging/v1/conversation_service"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer } from "../support/clients.ts"
import { type EdgeServer, startEdgeServer } from "../support/edge-server.ts"
import { effort } from "../support/effort.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { randomBytes } from "../support/messaging/device-parts.ts"
import type { Room } from "../support/messaging/room.ts"
import type { SignedIn } from "../support/messaging/world.ts"
import { claimsOf } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"

/** These tests start a Worker and an auth service, so they do not run in short runs. */
const isWorthIt = effort(false, true, true)

let server: EdgeServer
let alice: TestDevice
let bob: TestDevice
let eve: TestDevice
let room: Room
const lines: string[] = []

async function registered(of?: SignedIn): Promise<TestDevice> {
  const device = await newDevice(server.transport, of ?? (await server.person(crypto.randomUUID())))
  await device.register()
  await device.upload(2)
  return device
}

async function why(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return "taken"
  } catch (error) {
    const [info] = ConnectError.from(error).findDetails(ErrorInfoSchema)
    return info?.reason ?? String(error)
  }
}

/** Signs the token again with other claims and the issuer's key. */
const forged = (of: TestDevice, change: object) =>
  server.node.keys.sign("at+jwt", { ...claimsOf(of.session.accessToken), ...change })
const as = async (token: string | Promise<string>) => bearer(await token)
const id = (kind: "cnv" | "dev" | "wel" | "att" | "ses" | "ten" | "app") => newId(kind, Date.now(), randomBytes(10))

beforeAll(async () => {
  if (!isWorthIt) return
  server = await startEdgeServer({ store: storyStore, onLine: (line) => lines.push(line) })
  ;[alice, bob, eve] = await Promise.all([registered(), registered(), registered()])
  room = await alice.createGroup([bob.userId])
  await alice.send(room, "of nobody's business")
}, 120_000)
afterAll(() => server?.close())

describe.runIf(isWorthIt)("the Worker", () => {
  const list = (headers: { headers: Record<string, string> }) =>
    alice.calls.conversations.listConversations({}, headers)

  test.each<[string, () => Promise<string> | string, string]>([
    ["of the auth service's audience", () => forged(alice, { aud: "auth" }), "AUDIENCE_MISMATCH"],
    ["of two audiences", () => forged(alice, { aud: ["messaging", "auth"] }), "AUDIENCE_MISMATCH"],
    ["of another issuer", () => forged(alice, { iss: "https://other.example" }), "ISSUER_MISMATCH"],
    ["that has expired", () => forged(alice, { iat: 1_700_000_000, exp: 1_700_000_600 }), "TOKEN_EXPIRED"],
    ["that reads nothing", () => forged(alice, { scp: ["messaging.write"] }), "MISSING_SCOPE"],
    ["with another's device", () => forged(eve, { did: alice.id }), "DEVICE_"],
    ["with a device that is none", () => forged(alice, { did: id("dev") }), "DEVICE_"],
    ["of another tenant", () => forged(alice, { tenant_id: id("ten") }), "DEVICE_"],
    ["of another app", () => forged(alice, { app_id: id("app") }), "DEVICE_"],
    ["that is none", () => "not.a.token", "MALFORMED_CREDENTIAL"],
  ])("refuses a token %s", async (_, token, reason) => {
    const answer = await why(list(await as(token())))
    expect(answer).toMatch(reason)
    expect(answer).not.toMatch(/taken|INTERNAL/)
  })

  test("gives a non-member the same answer for a conversation as for a missing one", async () => {
    const { conversations } = eve.calls
    for (const conversationId of [room.id, id("cnv")]) {
      const calls = {
        get: () => conversations.getConversation({ conversationId }),
        list: () => conversations.listMessages({ conversationId }),
        info: () => conversations.getGroupInfo({ conversationId }),
        tree: () => conversations.getTree({ conversationId, treeHash: "00".repeat(32), offset: 0 }),
        ack: () => conversations.ackMessages({ conversationId, processedSeq: 1n, processedEpoch: 1n }),
      }
      for (const [name, call] of Object.entries(calls)) expect(await why(call()), name).toBe("RESOURCE_UNRESOLVED")
    }
  })

  test("offers no path or header that reaches a Durable Object directly", async () => {
    for (const path of [
      "/stream",
      `/${alice.id}`,
      "/ConversationObject/append",
      "/auth/revocations?after=0&wait=0",
      "//device/stream",
    ]) {
      for (const method of ["GET", "POST"]) {
        const headers = { "x-durable-object": alice.id, "cf-worker": "signet", "cf-connecting-ip": "::::garbage" }
        const answer = await fetch(`${server.messagingUrl}${path}`, { method, headers })
        expect(answer.status, path).toBe(404)
      }
    }
  })

  test("answers a position past the end of any log without a fault", async () => {
    for (const far of [2n ** 53n, 2n ** 63n, 2n ** 64n - 1n]) {
      const { conversations } = alice.calls
      const read = await conversations.listMessages({ conversationId: room.id, afterSeq: far })
      expect(read.envelopes).toEqual([])
      const fault = ReportForkRequest_Fault.STATE_TAG_MISMATCH
      const report = { conversationId: room.id, epoch: far, seq: far, fault, stateTag: randomBytes(32) }
      expect(await why(conversations.reportFork(report))).toBe("INVALID_FIELD")
    }
  })

  test("refuses a page token of another user", async () => {
    await alice.createGroup([bob.userId])
    const { nextPageToken } = await alice.calls.conversations.listConversations({ pageSize: 1 })
    expect(nextPageToken).not.toBe("")
    expect(await why(eve.calls.conversations.listConversations({ pageSize: 1, pageToken: nextPageToken }))).toMatch(
      /TOKEN|FIELD/,
    )
  })

  test("signs each of many concurrent requests with its own caller's token", async () => {
    const people = await Promise.all(Array.from({ length: 8 }, () => server.person(crypto.randomUUID())))
    const devices = await Promise.all(people.map((one) => registered(one)))
    await Promise.all(
      devices.map(async (one, i) => {
        const peer = devices[(i + 1) % devices.length] ?? expect.fail()
        const own = await one.createGroup([peer.userId])
        expect(await why(one.send(own, "mine"))).toBe("taken")
      }),
    )
  })

  test("ends the stream of a revoked device and refuses its calls", async () => {
    const lost = await registered(await bob.session.again())
    const leaving = new AbortController()
    const stream = lost.calls.conversations.subscribe({}, { signal: leaving.signal })[Symbol.asyncIterator]()
    // The device has few key packages, so the stream begins with a hint.
    expect((await stream.next()).done).toBe(false)
    const ended = why(
      (async () => {
        while (!(await stream.next()).done);
      })(),
    )
    await bob.calls.devices.revokeDevice({ deviceId: lost.id })
    expect(await ended).toMatch(/DEVICE_REVOKED|SESSION_REVOKED/)
    leaving.abort()
    expect(await why(lost.calls.conversations.listConversations({}))).toMatch(/DEVICE_REVOKED|SESSION_REVOKED/)
  })

  test("audits a denial with the platform's address of the caller, and none that the caller claims", async () => {
    const token = await forged(alice, { scp: [] })
    const deny = async (headers: Record<string, string>) => {
      const answer = await fetch(`${server.messagingUrl}/signet.messaging.v1.DeviceService/ListDevices`, {
        method: "POST",
        body: "{}",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "x-forwarded-for": "198.51.100.9",
          ...headers,
        },
      })
      expect(answer.status).toBe(403)
    }
    const filter = {
      ...{ appId: null, tenantId: null, contextId: null, kinds: [], principalId: null, outcome: null },
      ...{ targetType: null, targetId: null, fromMs: null, untilMs: null },
    }
    const networks = async () => {
      const page = { size: 100, before: null }
      const events = await server.node.deps.store.transaction((tx) => tx.audit.list(filter, page))
      const denials = events.filter(({ request }) => request.route.endsWith("DeviceService/ListDevices"))
      return denials.map(({ request }) => request.ipTruncated).toReversed()
    }
    await deny({ "cf-connecting-ip": "192.0.2.7" })
    await expect.poll(networks).toEqual(["192.0.2.0/24"])
    await deny({})
    await expect.poll(networks).toEqual(["192.0.2.0/24", null])
  })

  test("logs no token, key or message", () => {
    const log = lines.join("\n")
    expect(log).toContain('"msg":"call"')
    for (const { session } of [alice, bob, eve]) expect(log).not.toContain(session.accessToken.slice(-40))
    expect(log).not.toMatch(/eyJ|Bearer|select |sqlite/i)
  })
})
