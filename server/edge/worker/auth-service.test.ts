// The states, places and tokens that this backend exchanges with the auth service, which a stand-in answers.
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { errorToJson } from "@connectrpc/connect/protocol-connect"
import { connectErrorOf } from "@signet/guard/errors"
import { type Reason, Refused } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import {
  BackendEvent_Outcome,
  GetSessionResponseSchema,
  IssueCredentialRequestSchema,
  IssueCredentialResponseSchema,
  ListActiveUsersRequestSchema,
  ListActiveUsersResponseSchema,
  SignDeviceListRequestSchema,
  SignDeviceListResponseSchema,
  GetSessionResponse_State as State,
  WriteAuditEventsRequestSchema,
  WriteAuditEventsResponseSchema,
} from "@signet/proto/authority/v1/authority_service"
import { PrincipalKind } from "@signet/proto/authz/v1/context"
import { Reason as WireReason } from "@signet/proto/authz/v1/reason"
import { beforeEach, expect, test } from "vitest"
import { PermanentlyRefused } from "../../store/durable/effects.ts"
import { createAuthService } from "./auth-service.ts"
import { withCallerToken } from "./caller-token.ts"

const id = <K extends Parameters<typeof newId>[0]>(kind: K, byte = 1) => newId(kind, 0, new Uint8Array(10).fill(byte))
const place = { appId: id("app"), tenantId: id("ten") }
const [ann, ben, eve] = [id("prn", 1), id("prn", 2), id("prn", 3)]
const device = id("dev")

let requests: Uint8Array[]
let answer: () => Response
beforeEach(() => {
  requests = []
  answer = () => expect.fail("unexpected call")
})
const { accounts, effects, authority } = createAuthService({
  url: "https://auth.example",
  token: async () => "the backend's token",
  async fetch(_, init) {
    requests.push(new Uint8Array(await new Response(init?.body ?? null).arrayBuffer()))
    return answer()
  },
  issuerKeySet: () => undefined,
})

const answering = <D extends DescMessage>(schema: D, message: MessageInitShape<D>) => {
  answer = () => new Response(toBinary(schema, create(schema, message)).slice())
}
const refusing = (reason: Reason, metadata: Record<string, string> = {}) => {
  const refused = new Refused(reason, { metadata })
  answer = () => Response.json(errorToJson(connectErrorOf(refused), undefined), { status: refused.status })
}
const sent = <D extends DescMessage>(schema: D) => fromBinary(schema, requests.at(-1) ?? expect.fail("no call"))

test.each<[State, string]>([
  [State.ACTIVE, "ACTIVE"],
  [State.EXPIRED, "EXPIRED"],
  [State.COMPROMISED, "COMPROMISED"],
  [State.REVOKED, "REVOKED"],
  [State.STATE_UNSPECIFIED, "REVOKED"],
  [99 as State, "REVOKED"],
])("a session in state %d is %s", async (state, expected) => {
  answering(GetSessionResponseSchema, { state, boundDeviceId: device })
  expect(await accounts.findSession(id("ses"))).toEqual({ state: expected, boundDeviceId: device })
})

test("a session is unknown only if the auth service reports it as missing", async () => {
  refusing("NOT_FOUND")
  expect(await accounts.findSession(id("ses"))).toBeUndefined()
  refusing("RATE_LIMITED")
  await expect(accounts.findSession(id("ses"))).rejects.toMatchObject({ reason: "RATE_LIMITED" })
})

test("users are looked up in their place, and only requested users are returned", async () => {
  answering(ListActiveUsersResponseSchema, { activeUserIds: [ben, eve], goneUserIds: [ann, eve] })
  expect(await accounts.activeUsers([ann, ben], place)).toEqual([ben])
  expect(sent(ListActiveUsersRequestSchema).place).toMatchObject(place)
  expect(await effects.goneUsers([ann, ben], { ...place, tenantId: null })).toEqual([ann])
  expect(sent(ListActiveUsersRequestSchema).place).toMatchObject({ appId: place.appId, tenantId: "" })
})

const event = {
  id: id("aud"),
  occurredAtMs: 1,
  kind: "device.registered",
  outcome: "SUCCESS",
  reason: null,
  ...place,
  contextId: null,
  actorPrincipalId: null,
  subjectPrincipalId: null,
  subjectIdentityId: null,
  sessionId: null,
  target: null,
  request: { id: "r-1", route: "", ipTruncated: null },
} as const

test.each<[string, Reason, Record<string, string>, boolean]>([
  ["an event that is too old", "INVALID_FIELD", { field: "occurred_at", code: "TOO_OLD" }, true],
  ["an event ahead of the auth service's clock", "INVALID_FIELD", { field: "occurred_at", code: "TOO_NEW" }, false],
  ["a session of another user", "NOT_THE_CALLERS", { field: "bind" }, true],
  ["a device that the list does not revoke", "NOT_THE_CALLERS", { field: "revoked_device_ids" }, true],
  ["an app of another backend", "NOT_THE_CALLERS", { field: "app_id" }, false],
  ["a service account without its scope", "MISSING_SCOPE", {}, false],
])("the refusal of %s (%s) %j is permanent: %s", async (_, reason, metadata, isPermanent) => {
  refusing(reason, metadata)
  const faults = [
    await effects.audit([event]).catch((fault: unknown) => fault),
    await effects
      .changeSessions({ list: new Uint8Array(), bind: null, revoked: [device], nowMs: 0 })
      .catch((fault: unknown) => fault),
  ]
  for (const fault of faults) {
    expect(fault).toBeInstanceOf(Error)
    expect(fault instanceof PermanentlyRefused).toBe(isPermanent)
  }
})

test("an event is sent with its place, session, subjects, target and request", async () => {
  answering(WriteAuditEventsResponseSchema, {})
  const people = { actorPrincipalId: ann, subjectPrincipalId: ben, subjectIdentityId: id("idn"), sessionId: id("ses") }
  const request = { id: "r-1", route: "signet.messaging.v1.DeviceService/ListDevices", ipTruncated: "192.0.2.0/24" }
  const target = { type: "device", id: device }
  const decided = { requirement: "scope(messaging.write)", audience: "svc-messaging", missing: "messaging.write" }
  const denial = { ...decided, callerKind: "USER", authTimeMs: 7_000 } as const
  const denied = { outcome: "DENIED", reason: "MISSING_SCOPE", target, request, denial } as const
  await effects.audit([{ ...event, ...people, ...denied }])
  expect(requests).toHaveLength(1)
  const { route, ipTruncated } = request
  expect(sent(WriteAuditEventsRequestSchema).events).toMatchObject([
    {
      ...{ id: event.id, kind: event.kind, ...place, ...people },
      ...{ outcome: BackendEvent_Outcome.DENIED, reason: WireReason.MISSING_SCOPE },
      ...{ targetType: "device", targetId: device, requestId: "r-1", route, ipTruncated },
      denial: { ...decided, callerKind: PrincipalKind.USER, authTime: { seconds: 7n } },
    },
  ])
  await effects.audit([{ ...event, appId: null, tenantId: null }])
  expect(sent(WriteAuditEventsRequestSchema).events).toMatchObject([{ appId: "", tenantId: "", sessionId: "" }])
})

const times = { notBeforeMs: 0, notAfterMs: 1_000 }
const facts = { place, userId: ann, deviceId: device, leafKey: new Uint8Array(32), serial: 1n, flags: 0, ...times }

test("a credential is requested with the caller's token, for the caller's place", async () => {
  answering(IssueCredentialResponseSchema, { credential: new Uint8Array([1]) })
  await withCallerToken("Ann's token", () => authority.issueCredential(facts, new Uint8Array()))
  expect(sent(IssueCredentialRequestSchema)).toMatchObject({ callerToken: "Ann's token", place })
})

test.each<[string, <T>(work: () => T) => T]>([
  ["outside any call", (work) => work()],
  ["in a call without one", (work) => withCallerToken("", work)],
])("without a caller's token, %s, no credential or proof is requested", async (_, run) => {
  const refused = { reason: "INTERNAL" }
  await expect(run(() => authority.issueCredential(facts, new Uint8Array()))).rejects.toMatchObject(refused)
  const proof = {
    place,
    conversationId: id("cnv"),
    mlsGroupId: new Uint8Array(32),
    op: "ADD",
    baseEpoch: 1n,
    baseStateTag: null,
    added: [],
    removed: [],
    requester: null,
    decisionId: id("dcn"),
    issuedAtMs: 0,
    policyVersion: 1n,
  } as const
  await expect(run(() => authority.issueProof(proof, () => expect.fail("evidence")))).rejects.toMatchObject(refused)
  expect(requests).toEqual([])
})

test("the device list of a removed user is signed without a caller's token", async () => {
  answering(SignDeviceListResponseSchema, { deviceList: new Uint8Array([1]) })
  const list = { place, userId: ann, version: 2n, previousHash: null, entries: [], issuedAtMs: 0 }
  await authority.signDeviceList(list)
  expect(sent(SignDeviceListRequestSchema)).toMatchObject({ callerToken: "", place, userId: ann })
})
