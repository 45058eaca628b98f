// A messaging backend that is broken, or not one at all, at the service that signs for backends: it gets nothing that its
// callers do not have.
import { Code, ConnectError } from "@connectrpc/connect"
import { newId, parseId } from "@signet/kernel/ids"
import {
  BackendEvent_Outcome,
  ListedDevice_Status,
  IssueProofRequest_Op as Op,
} from "@signet/proto/authority/v1/authority_service"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createAuthority } from "../../server/keys/authority.ts"
import { bearer } from "../support/clients.ts"
import { addMachine, addPat, basic, postForm } from "../support/machines.ts"
import type { TestDevice } from "../support/messaging/device.ts"
import { deviceRequest, newLeafKey, randomBytes } from "../support/messaging/papers.ts"
import { claimsOf } from "../support/people.ts"
import {
  alice,
  at,
  authority,
  backend,
  bob,
  credentialFor,
  credentialHash,
  forged,
  listOf,
  now,
  openScene,
  own,
  paperOf,
  phone,
  place,
  proofFor,
  server,
  tokenOf,
  why,
} from "./backend-scene.ts"

const { ACTIVE, REVOKED } = ListedDevice_Status
beforeAll(openScene)
afterAll(() => server?.close())

describe("only a backend's account gets in", () => {
  test.each<[string, () => Promise<string> | string, string]>([
    ["nobody", () => "", "MALFORMED_CREDENTIAL"],
    [
      "a user, whatever the token says",
      () => forged(alice, { scp: ["auth.messaging.backend"] }),
      "PRINCIPAL_KIND_NOT_ALLOWED",
    ],
    ["another service", otherService, "MISSING_SCOPE"],
    ["the same for another audience", async () => await ownToken({ aud: "svc-notes" }), "AUDIENCE_MISMATCH"],
    ["the same without the scope", async () => await ownToken({ scp: ["auth.introspect"] }), "MISSING_SCOPE"],
  ])("not %s", async (_, token, reason) => {
    const as = bearer(await token())
    const calls = [
      authority.getIssuerKeySet({}, as),
      authority.issueCredential(await credentialFor(alice), as),
      authority.getSession({ sessionId: String(claimsOf(tokenOf(alice)).sid) }, as),
      authority.listActiveUsers({ place: place(), userIds: [alice.userId] }, as),
    ]
    for (const call of calls) expect(await why(call)).toMatch(new RegExp(`^${reason}`))
  })
})

const ownToken = async (change: object) =>
  server.keys.sign("at+jwt", { ...claimsOf(own.headers.authorization?.slice(7) ?? ""), ...change })
async function otherService(): Promise<string> {
  const scopes = ["auth.introspect"]
  const machine = await addMachine(server, { allowedAudiences: ["auth"], scopes, defaultScopes: scopes })
  const form = { grant_type: "client_credentials", audience: "auth", scope: "auth.introspect" }
  return String((await postForm(`${server.url}/auth/token`, form, basic(machine))).body.access_token)
}

describe("a credential", () => {
  test("is signed for the caller who holds its key", async () => {
    expect(await why(authority.issueCredential(await credentialFor(alice), own))).toBe("taken")
  })

  test.each<[string, () => object, string]>([
    ["another user", () => ({ userId: bob.userId }), "NOT_THE_CALLERS user_id"],
    ["the user of another caller", () => ({ callerToken: tokenOf(bob) }), "NOT_THE_CALLERS user_id"],
    [
      "another app",
      () => ({ place: { appId: newId("app", now(), randomBytes(10)), tenantId: "" } }),
      "NOT_THE_CALLERS place",
    ],
    [
      "a tenant that the caller is not in",
      () => ({ place: { ...place(), tenantId: newId("ten", now(), randomBytes(10)) } }),
      "NOT_THE_CALLERS place",
    ],
    ["longer than there are", () => ({ notAfter: at(401 * 86_400_000) }), "INVALID_FIELD not_after"],
    ["another time", () => ({ notBefore: at(86_400_000), notAfter: at(2 * 86_400_000) }), "INVALID_FIELD not_before"],
    ["a request that is none", () => ({ deviceRequest: randomBytes(64) }), "CREDENTIAL_INVALID REQUEST_MALFORMED"],
  ])("is not signed for %s", async (_, change, reason) => {
    expect(await why(authority.issueCredential(await credentialFor(alice, change()), own))).toBe(reason)
  })

  test("is not signed for a key whose holder asked as somebody else", async () => {
    const request = await deviceRequest(newLeafKey(), bob.place, bob.userId)
    const call = authority.issueCredential(await credentialFor(alice, { deviceRequest: request }), own)
    expect(await why(call)).toBe("CREDENTIAL_INVALID REQUEST_WRONG_USER")
  })

  test.each<[string, () => Promise<string> | string, string]>([
    ["that has expired", () => forged(alice, { iat: 1_700_000_000, exp: 1_700_000_600 }), "TOKEN_EXPIRED"],
    ["for another audience", () => forged(alice, { aud: "svc-notes" }), "AUDIENCE_MISMATCH"],
    ["of another issuer", () => forged(alice, { iss: "https://other.example" }), "ISSUER_MISMATCH"],
    ["that is none", () => "not.a.token", "MALFORMED_CREDENTIAL"],
    ["that only reads", () => forged(alice, { scp: ["messaging.read"] }), "MISSING_SCOPE"],
    [
      "of a session that is none",
      () => forged(alice, { sid: newId("ses", now(), randomBytes(10)) }),
      "SESSION_REVOKED",
    ],
    ["that came of a personal access token", patToken, "PRINCIPAL_KIND_NOT_ALLOWED"],
    ["of a service that acts for the user", delegatedToken, "ACTOR_NOT_ALLOWED"],
    ["of the backend itself", () => own.headers.authorization?.slice(7) ?? "", "PRINCIPAL_KIND_NOT_ALLOWED"],
  ])("is not signed for a caller's token %s, and neither is anything else", async (_, token, reason) => {
    const callerToken = await token()
    const refused = `CALLER_REFUSED ${reason}`
    expect(await why(authority.issueCredential(await credentialFor(alice, { callerToken }), own))).toBe(refused)
    expect(await why(authority.signDeviceList(listOf(alice, { callerToken }), own))).toBe(refused)
    expect(await why(authority.issueProof(proofFor(alice, { callerToken }), own))).toBe(refused)
  })
})

async function patToken(): Promise<string> {
  const user = {
    principalId: idOfUser(alice),
    identityId: parseId("idn", String(claimsOf(tokenOf(alice)).identity_id)) ?? expect.fail(),
  }
  const { pat } = await addPat(server, user, { allowedAudiences: ["auth"], scopes: ["messaging.write"] })
  const { sid, did, identity_id, ...claims } = claimsOf(tokenOf(alice))
  return server.keys.sign("at+jwt", { ...claims, identity_id, gty: "pat", cred_id: pat.id })
}

async function delegatedToken(): Promise<string> {
  const machine = await addMachine(server, { allowedAudiences: ["auth"], ownedAudiences: [] })
  const { sid, did, ...claims } = claimsOf(tokenOf(alice))
  const act = { sub: machine.account.principalId, principal_type: "service", client_id: machine.account.clientId }
  return server.keys.sign("at+jwt", { ...claims, gty: "on_behalf_of", act, job_id: "job-1", osid: sid })
}

const sessionOf = (device: TestDevice) => String(claimsOf(tokenOf(device)).sid)
const idOfUser = (device: TestDevice) => parseId("prn", device.userId) ?? expect.fail()

describe("a list", () => {
  test.each<[string, () => object, string]>([
    ["of another user", () => ({ userId: bob.userId }), "NOT_THE_CALLERS user_id"],
    ["of an active user that nobody asks for", () => ({ callerToken: "" }), "NOT_THE_CALLERS user_id"],
    ["of some other time", () => ({ issuedAt: at(-600_000) }), "INVALID_FIELD issued_at"],
    ["with too many devices", () => ({ entries: manyEntries() }), "INVALID_FIELD entries"],
    [
      "that follows nothing and is no first one",
      () => ({ previousHash: new Uint8Array() }),
      "INVALID_FIELD LIST_MALFORMED",
    ],
  ])("%s is not signed", async (_, change, reason) => {
    expect(await why(authority.signDeviceList(listOf(alice, change()), own))).toBe(reason)
  })

  test("of who is gone says nothing but that the devices are", async () => {
    const gone = await server.person(crypto.randomUUID())
    const device = { ...alice, userId: gone.userId, session: gone }
    const revoked = () => authority.signDeviceList(listOf(device, { callerToken: "" }, REVOKED), own)
    expect(await why(revoked())).toBe("NOT_THE_CALLERS user_id")
    const id = parseId("prn", gone.userId) ?? expect.fail()
    const setStatus = (status: "SUSPENDED" | "DEACTIVATED") =>
      server.store.db.updateTable("principal").set({ status }).where("id", "=", id).execute()
    await setStatus("SUSPENDED")
    expect(await why(revoked())).toBe("NOT_THE_CALLERS user_id")
    await setStatus("DEACTIVATED")
    expect(await why(authority.signDeviceList(listOf(device, { callerToken: "" }, ACTIVE), own))).toBe(
      "NOT_THE_CALLERS user_id",
    )
    expect(await why(revoked())).toBe("taken")
  })
})

const manyEntries = () =>
  Array.from({ length: 17 }, () => ({
    deviceId: newId("dev", now(), randomBytes(10)),
    credentialHash: randomBytes(32),
    status: ACTIVE,
    changedAt: at(),
  }))

const none = { requester: new Uint8Array(), requesterPaper: { case: undefined } }
const leaf = () => ({ credentialHash: randomBytes(32), keyPackageRef: randomBytes(32) })

describe("a proof", () => {
  test("is signed for the caller's own device", async () => {
    expect(await why(authority.issueProof(proofFor(alice), own))).toBe("taken")
  })

  test.each<[string, () => object, string]>([
    [
      "somebody else's device",
      () => ({ requester: credentialHash(bob), requesterPaper: paperOf(bob) }),
      "NOT_THE_CALLERS requester",
    ],
    [
      "a device of the caller's other session",
      () => ({ requester: credentialHash(phone), requesterPaper: paperOf(phone) }),
      "NOT_THE_CALLERS requester",
    ],
    ["a device whose paper says another", () => ({ requester: credentialHash(bob) }), "NOT_THE_CALLERS requester"],
    ["a device without a paper", () => ({ requesterPaper: { case: undefined } }), "NOT_THE_CALLERS requester"],
    [
      "a device with a paper of nobody's",
      () => ({ requesterPaper: { case: "requesterCredential", value: new Uint8Array(200).fill(0x7a) } }),
      "CREDENTIAL_INVALID CPB_UNKNOWN_FIELD",
    ],
    [
      "another place",
      () => ({ place: { ...place(), tenantId: newId("ten", now(), randomBytes(10)) } }),
      "NOT_THE_CALLERS place",
    ],
    ["another policy", () => ({ policyVersion: 99n }), "NOT_THE_CALLERS policy_version"],
    ["another time", () => ({ issuedAt: at(600_000) }), "INVALID_FIELD issued_at"],
    ["whoever adds", () => none, "NOT_THE_CALLERS op"],
    ["whoever begins", () => ({ ...none, op: Op.CREATE }), "NOT_THE_CALLERS op"],
    [
      "whoever lets two devices in again",
      () => ({ ...none, op: Op.REJOIN, added: [leaf(), leaf()] }),
      "NOT_THE_CALLERS op",
    ],
    ["a removal that adds", () => ({ op: Op.REMOVE }), "NOT_THE_CALLERS op"],
    [
      "a token without a device",
      () => ({ callerToken: forged(alice, { did: undefined }) }),
      "CALLER_REFUSED DEVICE_REQUIRED",
    ],
    [
      "a device that the session has not",
      () => ({ callerToken: forged(alice, { did: bob.id }) }),
      "CALLER_REFUSED DEVICE_REQUIRED",
    ],
  ])("is not signed for %s", async (_, change, reason) => {
    expect(await why(authority.issueProof(proofFor(alice, change()), own))).toBe(reason)
  })

  test("is signed by a list of the caller's, and by nobody else's", async () => {
    const listFor = async (of: TestDevice, status: ListedDevice_Status = ACTIVE) => {
      const entries = [{ deviceId: of.id, credentialHash: credentialHash(alice), status, changedAt: at() }]
      return (await authority.signDeviceList({ ...listOf(of), entries }, own)).deviceList
    }
    const withList = (value: Uint8Array) =>
      why(authority.issueProof(proofFor(alice, { requesterPaper: { case: "requesterList", value } }), own))
    expect(await withList(await listFor(alice))).toBe("taken")
    expect(await withList(await listFor(alice, REVOKED))).toBe("NOT_THE_CALLERS requester")
    expect(await withList(await listFor(bob))).toBe("CREDENTIAL_INVALID LIST_WRONG_USER")
  })
})

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

  test("of others do not end by a list that names their devices", async () => {
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

  test("do not change but by a list that says so", async () => {
    const deviceList = await signed(alice, [{ id: alice.id, status: ACTIVE }])
    const revoke = (list: Uint8Array) =>
      authority.changeSessions({ deviceList: list, revokedDeviceIds: [alice.id] }, own)
    expect(await why(revoke(deviceList))).toBe("NOT_THE_CALLERS revoked_device_ids")
    const bind = { sessionId: sessionOf(alice), deviceId: bob.id }
    expect(await why(authority.changeSessions({ deviceList, bind }, own))).toBe("NOT_THE_CALLERS bind")
    // Signed by who has no key for lists.
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

  test("of another app are none", async () => {
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

/** Of another app, with the scope. */
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
  ])("does not take %s, nor what comes with it", async (_, change, reason) => {
    const good = event()
    expect(await why(authority.writeAuditEvents({ events: [good, event(change())] }, own))).toBe(reason)
    const known = await server.deps.store.transaction((tx) => tx.audit.known([good.id]))
    expect(known.size).toBe(0)
  })

  test("takes no more than fifty at once, and what names no app is the backend's", async () => {
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

describe("too much", () => {
  /** What each call of the service answers. */
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

  test("is refused: what is asked in one person's name, and then everything", async () => {
    const messaging_backend = { caller: hourly(60), user: hourly(10) }
    Object.assign(server.deps.limiter?.limits.windows ?? {}, { messaging_backend })
    const sign = () => authority.signDeviceList(listOf(alice), own).then(() => undefined, ConnectError.from)
    const refused = await Promise.all(Array.from({ length: 12 }, sign))
    const [error = expect.fail()] = refused.filter((one) => one !== undefined)
    expect(refused.filter((one) => one === undefined).length).toBeLessThanOrEqual(10)
    expect(error.code).toBe(Code.ResourceExhausted)
    expect(Number(error.metadata.get("retry-after"))).toBeGreaterThan(0)
    // Whatever is signed in her name counts, and what is asked for others goes on.
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
