// The scopes of messaging backends at AuthorityService. A backend of a tenant, an app or the installation serves only
// that scope. A caller's token, a credential and a device list are valid only in their app and tenant, for their user
// and device.
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { decode } from "@signet/canonical/canonical"
import { hash } from "@signet/canonical/hash"
import { parseSigned } from "@signet/canonical/signed"
import { type AuditEventId, newId, type TenantId } from "@signet/kernel/ids"
import type { App } from "@signet/kernel/records"
import {
  BackendEvent_Outcome,
  GetSessionResponse_State,
  ListedDevice_Status,
} from "@signet/proto/authority/v1/authority_service"
import { PrincipalKind } from "@signet/proto/authz/v1/context"
import { Reason } from "@signet/proto/authz/v1/reason"
import { DeviceCredentialBodyV1Schema, DeviceFlag } from "@signet/proto/credential/v1/device_credential"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer } from "../support/clients.ts"
import { addMachine, basic, postForm } from "../support/machines.ts"
import type { TestDevice } from "../support/messaging/device.ts"
import { deviceRequest, newLeafKey, placeOf, randomBytes } from "../support/messaging/device-parts.ts"
import type { SignedIn } from "../support/messaging/world.ts"
import { claimsOf } from "../support/people.ts"
import {
  alice,
  at,
  authority,
  bob,
  credentialFor,
  credentialHash,
  listOf,
  now,
  openScene,
  own,
  phone,
  place,
  proofFor,
  server,
  why,
} from "./backend-scene.ts"

const { ACTIVE, REVOKED } = ListedDevice_Status
type Headers = { headers: Record<string, string> }

let tenantId: TenantId
/** Alice, in her tenant. */
let inside: TestDevice
let tenants: Headers
let installations: Headers
beforeAll(async () => {
  await openScene()
  tenantId = newId("ten", now(), randomBytes(10))
  const subject = crypto.randomUUID()
  const session = await server.person(subject, { tenantId })
  inside = { ...alice, userId: session.userId, session, place: placeOf(session.accessToken) }
  tenants = await backendOf(server.app, tenantId)
  const scopes = [{ key: "auth.messaging.backend", audience: "auth", isDefault: false }]
  const installation = { ...server.app, id: newId("app", now(), randomBytes(10)), isInstallation: true, scopes }
  await server.deps.store.transaction((tx) => tx.apps.putApp(installation))
  installations = await backendOf(installation, null)
})
afterAll(() => server?.close())

async function backendOf(app: App, tenant: TenantId | null): Promise<Headers> {
  const scopes = ["auth.messaging.backend"]
  const change = { appId: app.id, tenantId: tenant, allowedAudiences: ["auth"], scopes, defaultScopes: scopes }
  const machine = await addMachine({ ...server, app }, change)
  const form = { grant_type: "client_credentials", audience: "auth", scope: scopes[0] ?? "" }
  const { body } = await postForm(`${server.url}/auth/token`, form, basic(machine))
  return bearer(String(body.access_token))
}

const sessionOf = ({ accessToken }: SignedIn) => String(claimsOf(accessToken).sid)
const insidePlace = () => ({ appId: server.app.id, tenantId })
const event = (change: object = {}) => ({
  id: newId("aud", now(), randomBytes(10)),
  occurredAt: at(),
  kind: "directive.issued",
  outcome: BackendEvent_Outcome.SUCCESS,
  ...change,
})
const written = ({ id }: { id: AuditEventId }) =>
  server.store.db
    .selectFrom("audit_event")
    .select(["app_id", "tenant_id", "outcome", "reason"])
    .where("id", "=", id)
    .executeTakeFirst()

describe("a tenant's backend", () => {
  test("serves its tenant alone, not the rest of its app", async () => {
    const asked = (of: object) =>
      why(authority.listActiveUsers({ place: of as never, userIds: [inside.userId] }, tenants))
    expect(await asked(insidePlace())).toBe("taken")
    expect(await asked(place())).toBe("NOT_THE_CALLERS place")
    expect(await why(authority.getSession({ sessionId: sessionOf(inside.session) }, tenants))).toBe("taken")
    expect(await why(authority.getSession({ sessionId: sessionOf(alice.session) }, tenants))).toBe("NOT_FOUND")
    const { deviceList } = await authority.signDeviceList(listOf(alice), own)
    expect(await why(authority.changeSessions({ deviceList }, tenants))).toBe("NOT_THE_CALLERS place")
  })

  test("writes events that name no place into its tenant's audit", async () => {
    const said = event()
    await authority.writeAuditEvents({ events: [said] }, tenants)
    expect(await written(said)).toMatchObject({ app_id: server.app.id, tenant_id: tenantId })
  })
})

describe("the installation's backend", () => {
  test("serves every app, but only for callers of that app", async () => {
    expect(await why(authority.getSession({ sessionId: sessionOf(alice.session) }, installations))).toBe("taken")
    expect(await why(authority.issueProof(proofFor(alice), installations))).toBe("taken")
    const elsewhere = { appId: newId("app", now(), randomBytes(10)), tenantId: "" }
    expect(await why(authority.issueProof(proofFor(alice, { place: elsewhere }), installations))).toBe(
      "NOT_THE_CALLERS place",
    )
  })

  test("writes events that name no place into the installation's audit", async () => {
    const said = event()
    await authority.writeAuditEvents({ events: [said] }, installations)
    expect(await written(said)).toMatchObject({ app_id: null, tenant_id: null })
  })
})

test("an unknown session is not found", async () => {
  const sessionId = newId("ses", now(), randomBytes(10))
  expect(await why(authority.getSession({ sessionId }, own))).toBe("NOT_FOUND")
})

test("an event keeps its outcome and reason, and has no target without a type", async () => {
  const said = event({
    ...{ kind: "authz.denied", appId: server.app.id, route: "signet.messaging.v1.DeviceService/RegisterDevice" },
    ...{ outcome: BackendEvent_Outcome.DENIED, reason: Reason.MISSING_SCOPE },
  })
  await authority.writeAuditEvents({ events: [said] }, own)
  expect(await written(said)).toMatchObject({ outcome: "DENIED", reason: "MISSING_SCOPE" })
  const targeted = event({ targetId: "dev_1" })
  expect(await why(authority.writeAuditEvents({ events: [targeted] }, own))).toBe("INVALID_FIELD target_id")
})

describe("the facts of a denial", () => {
  const denial = { requirement: "scope(messaging.write)", callerKind: PrincipalKind.USER, missing: "messaging.write" }
  const deniedBy = (change: object) =>
    event({
      ...{ kind: "authz.denied", appId: server.app.id, route: "signet.messaging.v1.DeviceService/RegisterDevice" },
      ...{ outcome: BackendEvent_Outcome.DENIED, reason: Reason.MISSING_SCOPE, denial: { ...denial, ...change } },
    })
  const report = (said: ReturnType<typeof event>) => why(authority.writeAuditEvents({ events: [said] }, own))

  test("are stored as the backend reports them", async () => {
    const authTime = at(-1_000)
    const said = deniedBy({ audience: "svc-messaging", authTime })
    expect(await report(said)).toBe("taken")
    const every = { kinds: [], outcome: null, principalId: null, targetType: null, fromMs: null, untilMs: null }
    const filter = { appId: server.app.id, tenantId: null, contextId: null, ...every, targetId: said.id }
    const found = await server.deps.store.transaction((tx) => tx.audit.list(filter, { size: 1, before: null }))
    expect(found.map((one) => one.denial)).toEqual([
      {
        ...{ requirement: denial.requirement, callerKind: "USER", missing: denial.missing },
        ...{ audience: "svc-messaging", authTimeMs: timestampMs(authTime) },
      },
    ])
  })

  test.each<[string, object]>([
    ["a requirement of any length", { requirement: "x".repeat(513) }],
    ["an audience of any length", { audience: "x".repeat(513) }],
    ["a missing scope of any length", { missing: "x".repeat(513) }],
    ["a caller of no kind", { callerKind: PrincipalKind.PRINCIPAL_KIND_UNSPECIFIED }],
    ["a caller of an unknown kind", { callerKind: 99 }],
  ])("cannot have %s", async (_, change) => {
    expect(await report(deniedBy(change))).toMatch("INVALID_FIELD")
  })

  test("cannot be of an event that denies nothing", async () => {
    expect(await report(event({ denial }))).toBe("INVALID_FIELD denial")
  })
})

describe("a credential", () => {
  test("records whether the device's storage is ephemeral, as its holder requested", async () => {
    const asked = await credentialFor(alice)
    const { credential } = await authority.issueCredential(asked, own)
    const schema = DeviceCredentialBodyV1Schema
    const body = decode(schema, parseSigned(schema, credential).body)
    expect([body.flags, body.serial]).toEqual([DeviceFlag.EPHEMERAL_STORAGE, 2n])
  })

  test.each<[string, () => object, string]>([
    ["began long ago", () => ({ notBefore: at(-86_400_000) }), "INVALID_FIELD not_before"],
    ["has ended already", () => ({ notAfter: at(-1_000) }), "INVALID_FIELD not_after"],
  ])("that %s is not signed", async (_, change, reason) => {
    expect(await why(authority.issueCredential(await credentialFor(alice, change()), own))).toBe(reason)
  })

  test("is not signed for a key whose holder requested it in another tenant", async () => {
    const request = await deviceRequest(newLeafKey(), alice.place, inside.userId)
    const asked = await credentialFor(inside, { place: insidePlace(), deviceRequest: request })
    expect(await why(authority.issueCredential(asked, own))).toBe("CREDENTIAL_INVALID REQUEST_WRONG_TENANT")
  })
})

test("a list does not count revoked devices against the limit", async () => {
  const entry = (status: ListedDevice_Status) => ({
    ...{ deviceId: newId("dev", now(), randomBytes(10)), credentialHash: randomBytes(32), status, changedAt: at() },
  })
  const entries = [...Array.from({ length: 16 }, () => entry(ACTIVE)), entry(REVOKED)]
  expect(await why(authority.signDeviceList(listOf(alice, { entries }), own))).toBe("taken")
})

test("a user without a membership in a tenant counts as removed there, but not in its app", async () => {
  const list = (where: object) => listOf(bob, { callerToken: "", place: where }, REVOKED)
  expect(await why(authority.signDeviceList(list(insidePlace()), own))).toBe("taken")
  expect(await why(authority.signDeviceList(list(place()), own))).toBe("NOT_THE_CALLERS user_id")
})

describe("a proof is not signed", () => {
  const withCredential = (credential: Uint8Array) => {
    const requester = hash("device-credential", credential)
    const requesterPaper = { case: "requesterCredential", value: credential }
    return why(authority.issueProof(proofFor(alice, { requester, requesterPaper }), own))
  }
  const issued = async (of: TestDevice, change: object = {}) =>
    (await authority.issueCredential(await credentialFor(of, { deviceId: alice.id, ...change }), own)).credential

  test("for a token and a session that both have no device", async () => {
    const session = await server.person(crypto.randomUUID())
    const asked = proofFor({ ...alice, session, userId: session.userId })
    expect(await why(authority.issueProof(asked, own))).toBe("CALLER_REFUSED DEVICE_REQUIRED")
  })

  test("for another user's credential that names the caller's device", async () => {
    expect(await withCredential(await issued(alice))).toBe("taken")
    expect(await withCredential(await issued(bob))).toBe("NOT_THE_CALLERS requester")
  })

  test("for the user's credential or device list of another tenant", async () => {
    const mine = await server.person(crypto.randomUUID(), { tenantId })
    const member = { ...alice, userId: mine.userId, session: mine, place: placeOf(mine.accessToken) }
    const credential = await issued(member, { place: insidePlace() })
    expect(await withCredential(credential)).toBe("CREDENTIAL_INVALID CRED_WRONG_TENANT")
    const { deviceList: value } = await authority.signDeviceList(listOf(member, { place: insidePlace() }), own)
    const listed = proofFor(alice, { requesterPaper: { case: "requesterList", value } })
    expect(await why(authority.issueProof(listed, own))).toBe("CREDENTIAL_INVALID LIST_WRONG_TENANT")
  })

  test("for a list that has the device and the credential in different entries", async () => {
    const entry = (deviceId: string, of: Uint8Array) => ({
      ...{ deviceId, credentialHash: of, status: ACTIVE, changedAt: at() },
    })
    const asked = async (entries: object[]) => {
      const { deviceList: value } = await authority.signDeviceList(listOf(alice, { entries }), own)
      return why(authority.issueProof(proofFor(alice, { requesterPaper: { case: "requesterList", value } }), own))
    }
    const other = randomBytes(32)
    expect(await asked([entry(alice.id, other), entry(phone.id, credentialHash(alice))])).toBe(
      "NOT_THE_CALLERS requester",
    )
    expect(await asked([entry(alice.id, credentialHash(alice)), entry(phone.id, other)])).toBe("taken")
  })

  test("for a credential that has expired", async () => {
    const credential = await issued(alice, { notAfter: at(2_000) })
    expect(await withCredential(credential)).toBe("taken")
    server.advance(3_000)
    expect(await withCredential(credential)).toBe("CREDENTIAL_INVALID CRED_EXPIRED")
  })
})

describe("sessions", () => {
  const listed = async (of: TestDevice, where: object, statuses: Record<string, ListedDevice_Status>) => {
    const entries = Object.entries(statuses).map(([deviceId, status]) => ({
      ...{ deviceId, credentialHash: randomBytes(32), status, changedAt: at() },
    }))
    return (await authority.signDeviceList(listOf(of, { place: where, entries }), own)).deviceList
  }

  test("are not bound to a revoked device, and do not end when another device is revoked", async () => {
    const deviceList = await listed(alice, place(), { [alice.id]: ACTIVE, [phone.id]: REVOKED })
    const bind = { sessionId: sessionOf(alice.session), deviceId: phone.id }
    expect(await why(authority.changeSessions({ deviceList, bind }, own))).toBe("NOT_THE_CALLERS bind")
    const revokedDeviceIds = [phone.id, alice.id]
    expect(await why(authority.changeSessions({ deviceList, revokedDeviceIds }, own))).toBe(
      "NOT_THE_CALLERS revoked_device_ids",
    )
    const { state } = await authority.getSession({ sessionId: sessionOf(phone.session) }, own)
    expect(state).toBe(GetSessionResponse_State.ACTIVE)
  })

  test("with a tenant change only by that tenant's list", async () => {
    const subject = crypto.randomUUID()
    const outer = await server.person(subject)
    const inner = await server.person(subject, { tenantId })
    expect(inner.userId).toBe(outer.userId)
    const [id, other] = [newId("dev", now(), randomBytes(10)), newId("dev", now(), randomBytes(10))]
    const outerDevice = { ...alice, id, userId: outer.userId, session: outer }
    const innerDevice = { ...outerDevice, session: inner }
    const bound = { sessionId: sessionOf(inner), deviceId: id }
    const deviceList = await listed(innerDevice, insidePlace(), { [id]: ACTIVE })
    await authority.changeSessions({ deviceList, bind: bound }, own)
    const standing = () => authority.getSession({ sessionId: sessionOf(inner) }, own)
    expect(await standing()).toMatchObject({ state: GetSessionResponse_State.ACTIVE, boundDeviceId: id })
    const outerList = await listed(outerDevice, place(), { [id]: REVOKED, [other]: ACTIVE })
    const bind = { sessionId: sessionOf(inner), deviceId: other }
    await authority.changeSessions({ deviceList: outerList, bind }, own)
    await authority.changeSessions({ deviceList: outerList, revokedDeviceIds: [id] }, own)
    expect(await standing()).toMatchObject({ state: GetSessionResponse_State.ACTIVE, boundDeviceId: id })
  })
})

test("a backend that exceeded its limit does not slow down another", async () => {
  const messaging_backend = { caller: { limit: 6, seconds: 3_600 }, user: { limit: 2, seconds: 3_600 } }
  Object.assign(server.deps.limiter?.limits.windows ?? {}, { messaging_backend })
  const [one, other] = [await backendOf(server.app, null), await backendOf(server.app, null)]
  const sign = (as: Headers) => why(authority.signDeviceList(listOf(alice), as))
  for (const expected of ["taken", "taken", "RATE_LIMITED"]) expect(await sign(one)).toBe(expected)
  expect(await sign(other)).toBe("taken")
  for (const expected of ["taken", "taken", "taken", "RATE_LIMITED"]) {
    expect(await why(authority.getIssuerKeySet({}, one))).toBe(expected)
  }
  expect(await why(authority.getIssuerKeySet({}, other))).toBe("taken")
})
