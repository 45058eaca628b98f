// Attacks by a broken or false messaging backend: which sessions it can end, which events it can write, and how often.
import { Code, ConnectError } from "@connectrpc/connect"
import { newId, parseId } from "@signet/kernel/ids"
import { BackendEvent_Outcome, ListedDevice_Status } from "@signet/proto/authority/v1/authority_service"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createAuthority } from "../../server/keys/authority.ts"
import { bearer } from "../support/clients.ts"
import { addMachine, basic, postForm } from "../support/machines.ts"
import type { TestDevice } from "../support/messaging/device.ts"
import { newLeafKey, randomBytes } from "../support/messaging/device-parts.ts"
import { claimsOf } from "../support/people.ts"
import {
  alice,
  at,
  authority,
  backend,
  bob,
  credentialFor,
  listOf,
  now,
  openScene,
  own,
  place,
  proofFor,
  server,
  tokenOf,
  why,
} from "./backend-scene.ts"

const { ACTIVE, REVOKED } = ListedDevice_Status
beforeAll(openScene)
afterAll(() => server?.close())

const sessionOf = (device: TestDevice) => String(claimsOf(tokenOf(device)).sid)
const idOfUser = (device: TestDevice) => parseId("prn", device.userId) ?? expect.fail()

describe("sessions", () => {
  const standing = async (device: TestDevice) =>
    (await authority.getSession({ sessionId: sessionOf(device) }, own)).state
  const signed = async (of: TestDevice, entries: { id: string; status: ListedDevice_Status }[]) => {
    const listed = entries.map(({ id, status }) => ({
      deviceId: id,
      credentialHash: randomBytes(32),
      status,
      changedAt: at(),
    }))
    return (await authority.signDeviceList({ ...listOf(of), entries: listed }, own)).deviceList
  }

  test("of other users do not end by a list that names their devices", async () => {
    const deviceList = await signed(alice, [
      { id: alice.id, status: ACTIVE },
      { id: bob.id, status: REVOKED },
    ])
    expect(await why(authority.changeSessions({ deviceList, revokedDeviceIds: [bob.id] }, own))).toBe("taken")
    expect(await standing(bob)).toBe(1)
    const bind = { sessionId: sessionOf(bob), deviceId: alice.id }
    expect(await why(authority.changeSessions({ deviceList, bind }, own))).toBe("taken")
    expect((await authority.getSession({ sessionId: sessionOf(bob) }, own)).boundDeviceId).toBe(bob.id)
  })

  test("change only by a list that contains the change", async () => {
    const deviceList = await signed(alice, [{ id: alice.id, status: ACTIVE }])
    const revoke = (list: Uint8Array) =>
      authority.changeSessions({ deviceList: list, revokedDeviceIds: [alice.id] }, own)
    expect(await why(revoke(deviceList))).toBe("NOT_THE_CALLERS revoked_device_ids")
    const bind = { sessionId: sessionOf(alice), deviceId: bob.id }
    expect(await why(authority.changeSessions({ deviceList, bind }, own))).toBe("NOT_THE_CALLERS bind")
    // Signed by a key that is not for device lists.
    const stranger = createAuthority({ signer: () => newLeafKey().signer, keySet: () => undefined }, server.deps.issuer)
    const entries = [
      {
        id: parseId("dev", alice.id) ?? expect.fail(),
        credentialHash: randomBytes(32),
        status: "REVOKED" as const,
        changedAtMs: now(),
      },
    ]
    const list = {
      place: { appId: server.app.id, tenantId: null },
      userId: idOfUser(alice),
      version: 1n,
      previousHash: null,
      entries,
      issuedAtMs: now(),
    }
    expect(await why(revoke((await stranger.signDeviceList(list)).bytes))).toBe(
      "CREDENTIAL_INVALID LIST_UNKNOWN_ISSUER_KEY",
    )
    expect(await why(revoke(randomBytes(300)))).toMatch(/^CREDENTIAL_INVALID/)
    expect(await standing(alice)).toBe(1)
  })

  test("of another app are not found", async () => {
    const { app, other } = await otherBackend()
    expect(await why(authority.getSession({ sessionId: sessionOf(alice) }, other))).toBe("NOT_FOUND")
    expect(await why(authority.listActiveUsers({ place: place(), userIds: [alice.userId] }, other))).toBe(
      "NOT_THE_CALLERS place",
    )
    const deviceList = await signed(alice, [{ id: alice.id, status: REVOKED }])
    expect(await why(authority.changeSessions({ deviceList, revokedDeviceIds: [alice.id] }, other))).toBe(
      "NOT_THE_CALLERS place",
    )
    expect(await why(authority.issueCredential(await credentialFor(alice), other))).toBe("NOT_THE_CALLERS place")
    const elsewhere = await credentialFor(alice, { place: { appId: app.id, tenantId: "" } })
    expect(await why(authority.issueCredential(elsewhere, other))).toBe("NOT_THE_CALLERS place")
  })
})

/** Creates an app with a backend. */
async function otherBackend() {
  const app = {
    ...server.app,
    id: newId("app", now(), randomBytes(10)),
    scopes: [{ key: "auth.messaging.backend", audience: "auth", isDefault: false }],
  }
  await server.deps.store.transaction((tx) => tx.apps.putApp(app))
  const scopes = ["auth.messaging.backend"]
  const machine = await addMachine(
    { ...server, app },
    { appId: app.id, allowedAudiences: ["auth"], scopes, defaultScopes: scopes },
  )
  const form = { grant_type: "client_credentials", audience: "auth", scope: scopes[0] ?? "" }
  const { body } = await postForm(`${server.url}/auth/token`, form, basic(machine))
  return { app, other: bearer(String(body.access_token)) }
}

const event = (change: object = {}) => ({
  id: newId("aud", now(), randomBytes(10)),
  occurredAt: at(),
  kind: "device.registered",
  outcome: BackendEvent_Outcome.SUCCESS,
  appId: server.app.id,
  route: "signet.messaging.v1.DeviceService/RegisterDevice",
  ...change,
})

describe("the audit", () => {
  test.each<[string, () => object, string]>([
    ["a sign-in", () => ({ kind: "login.succeeded" }), "NOT_THE_CALLERS kind"],
    ["an administrator", () => ({ kind: "admin.created" }), "NOT_THE_CALLERS kind"],
    ["a kind that there is not", () => ({ kind: "device.stolen" }), "NOT_THE_CALLERS kind"],
    ["a call of another service", () => ({ route: "signet.auth.v1.AuthService/Logout" }), "NOT_THE_CALLERS route"],
    ["a denial of no call", () => ({ kind: "authz.denied", route: "" }), "NOT_THE_CALLERS route"],
    ["another app", () => ({ appId: newId("app", now(), randomBytes(10)) }), "NOT_THE_CALLERS app_id"],
    [
      "a tenant of no app",
      () => ({ appId: "", tenantId: newId("ten", now(), randomBytes(10)) }),
      "NOT_THE_CALLERS app_id",
    ],
    ["what is to come", () => ({ occurredAt: at(600_000) }), "INVALID_FIELD TOO_NEW"],
    ["what was long ago", () => ({ occurredAt: at(-32 * 86_400_000) }), "INVALID_FIELD TOO_OLD"],
    ["a target without an id", () => ({ targetType: "device" }), "INVALID_FIELD target_id"],
  ])("refuses %s together with the whole call", async (_, change, reason) => {
    const good = event()
    expect(await why(authority.writeAuditEvents({ events: [good, event(change())] }, own))).toBe(reason)
    const known = await server.deps.store.transaction((tx) => tx.audit.storedIds([good.id]))
    expect(known.size).toBe(0)
  })

  test("accepts at most fifty events a call, and events without an app get the backend's", async () => {
    const many = Array.from({ length: 51 }, () => event())
    expect(await why(authority.writeAuditEvents({ events: many }, own))).toMatch(/^INVALID_FIELD/)
    const placeless = event({ kind: "directive.issued", appId: "", route: "" })
    await authority.writeAuditEvents({ events: [placeless] }, own)
    const row = await server.store.db
      .selectFrom("audit_event")
      .select("app_id")
      .where("id", "=", placeless.id)
      .execute()
    expect(row).toEqual([{ app_id: server.app.id }])
  })
})

describe("an excess of calls", () => {
  /** Calls every method once and returns the answers. */
  const everything = async () => [
    await why(authority.getIssuerKeySet({}, own)),
    await why(authority.listActiveUsers({ place: place(), userIds: [bob.userId] }, own)),
    await why(authority.getSession({ sessionId: sessionOf(bob) }, own)),
    await why(authority.issueCredential(await credentialFor(bob), own)),
    await why(authority.signDeviceList(listOf(bob), own)),
    await why(authority.issueProof(proofFor(bob), own)),
    await why(authority.changeSessions({ deviceList: new Uint8Array(9) }, own)),
    await why(authority.writeAuditEvents({ events: [event()] }, own)),
  ]
  const hourly = (limit: number) => ({ limit, seconds: 3_600 })

  test("is refused first for one user, and then for all calls", async () => {
    const messaging_backend = { caller: hourly(60), user: hourly(10) }
    Object.assign(server.deps.limiter?.limits.windows ?? {}, { messaging_backend })
    const sign = () => authority.signDeviceList(listOf(alice), own).then(() => undefined, ConnectError.from)
    const refused = await Promise.all(Array.from({ length: 12 }, sign))
    const [error = expect.fail()] = refused.filter((one) => one !== undefined)
    expect(refused.filter((one) => one === undefined).length).toBeLessThanOrEqual(10)
    expect(error.code).toBe(Code.ResourceExhausted)
    expect(Number(error.metadata.get("retry-after"))).toBeGreaterThan(0)
    // Everything signed for her counts. Calls for others still succeed.
    expect(await why(authority.issueProof(proofFor(alice), own))).toBe("RATE_LIMITED")
    expect(await why(authority.issueCredential(await credentialFor(alice), own))).toBe("RATE_LIMITED")
    const { deviceList } = await authority.signDeviceList(listOf(bob), own)
    const bySigned = () => why(authority.changeSessions({ deviceList }, own))
    expect(await bySigned()).toBe("taken")
    for (let i = 0; i < 10; i++) await bySigned()
    expect(await bySigned()).toBe("RATE_LIMITED")
    for (;;) if ((await why(authority.getIssuerKeySet({}, own))) !== "taken") break
    expect(new Set(await everything())).toEqual(new Set(["RATE_LIMITED"]))
    server.advance(3_600_000)
    expect(await why(authority.getIssuerKeySet({}, await backend.ownHeaders()))).toBe("taken")
  })
})
