// Attacks by a broken or false messaging backend at AuthorityService: it gets only signatures that its callers may
// have.
import { newId, parseId } from "@signet/kernel/ids"
import { ListedDevice_Status, IssueProofRequest_Op as Op } from "@signet/proto/authority/v1/authority_service"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer } from "../support/clients.ts"
import { addMachine, addPat, basic, postForm } from "../support/machines.ts"
import type { TestDevice } from "../support/messaging/device.ts"
import { deviceRequest, newLeafKey, randomBytes } from "../support/messaging/device-parts.ts"
import { claimsOf } from "../support/people.ts"
import {
  alice,
  at,
  authority,
  bob,
  credentialFor,
  credentialHash,
  evidenceOf,
  forged,
  listOf,
  now,
  openScene,
  own,
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

describe("only a backend's account is authorized", () => {
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
    for (const told of await Promise.all(calls.map(why))) expect(told).toMatch(new RegExp(`^${reason}`))
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
  test("is signed for the holder of its key", async () => {
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

  test("is not signed for a key whose holder requested it as another user", async () => {
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

  test("of a removed user can only revoke the devices", async () => {
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
      () => ({ requester: credentialHash(bob), requesterPaper: evidenceOf(bob) }),
      "NOT_THE_CALLERS requester",
    ],
    [
      "a device of the caller's other session",
      () => ({ requester: credentialHash(phone), requesterPaper: evidenceOf(phone) }),
      "NOT_THE_CALLERS requester",
    ],
    ["a device whose evidence names another", () => ({ requester: credentialHash(bob) }), "NOT_THE_CALLERS requester"],
    ["a device without evidence", () => ({ requesterPaper: { case: undefined } }), "NOT_THE_CALLERS requester"],
    [
      "a device with invalid evidence",
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

  test("requires the caller's own device list", async () => {
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
