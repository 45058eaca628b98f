// The rate limits of each method that changes credentials or delegations.

import { generateKeyPairSync } from "node:crypto"
import { MethodOptions_IdempotencyLevel, timestampFromMs } from "@bufbuild/protobuf/wkt"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { createEnvelopeKey, proveEnvelopeKey } from "@signet/guard/mailbox/envelope-key"
import { administrationScopes } from "@signet/kernel/administration/scopes"
import { newId } from "@signet/kernel/ids"
import { defaultLimits } from "@signet/kernel/limits/policy"
import { DelegationService } from "@signet/proto/auth/v1/delegation_service"
import { PatService } from "@signet/proto/auth/v1/pat_service"
import { ClientAuthMethod, ServiceAccountService } from "@signet/proto/auth/v1/service_account_service"
import { afterAll, beforeAll, expect, test } from "vitest"
import { administrationMethods, callRaw, isRead, noIds, requestOf } from "../support/administered.ts"
import { bearer, clientsOver, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const scopes = [
  ...["auth.service_accounts.write", "auth.service_accounts.read", "auth.delegation.write"],
  ...administrationScopes,
]
const zeros = new Uint8Array(10)
const [sac, scr, prn, dpo, dlg, pat] = (["sac", "scr", "prn", "dpo", "dlg", "pat"] as const).map((kind) =>
  newId(kind, 0, zeros),
)
const refused = "ResourceExhausted RATE_LIMITED"

let server: TestServer
beforeAll(async () => {
  const windows = { ...defaultLimits.windows, admin_write: { caller: { limit: 1, seconds: 3_600 } } }
  server = await startTestServer({ store: storyStore, limits: { ...defaultLimits, windows }, isClockStopped: true })
  const administration = scopes.map((key) => ({ key, audience: "auth", isDefault: true }))
  await server.deps.store.transaction((tx) =>
    tx.apps.putApp({ ...server.app, scopes: [...server.app.scopes, ...administration] }),
  )
})
afterAll(() => server.close())

test.runIf(isLong)("a limit of one change an hour covers all methods, and reading is not limited", async () => {
  const transport = createGrpcTransport({ baseUrl: server.url })
  const pats = createClient(PatService, transport)
  const accounts = createClient(ServiceAccountService, transport)
  const delegations = createClient(DelegationService, transport)
  const newPat = { name: "first", allowedAudiences: ["svc-notes"], scopes: ["notes.read"], expiresInDays: 1 }
  const at = { serviceAccountId: sac ?? "" }
  const { x = "", y = "" } = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" })
  const envelopeKey = await createEnvelopeKey()
  const proof = await proveEnvelopeKey(envelopeKey, at.serviceAccountId)
  const newEnvelopeKey = { ...at, x: envelopeKey.x, y: envelopeKey.y, mailboxes: ["svc-notes/*"], proof }
  type Options = ReturnType<typeof bearer>
  const changes: Record<string, (as: Options) => Promise<unknown>> = {
    createPat: (as) => pats.createPat(newPat, as),
    revokePat: (as) => pats.revokePat({ patId: pat ?? "" }, as),
    createServiceAccount: (as) =>
      accounts.createServiceAccount(
        { name: "x", authMethods: [ClientAuthMethod.CLIENT_SECRET_BASIC], allowedAudiences: ["svc-notes"] },
        as,
      ),
    addSecret: (as) => accounts.addSecret(at, as),
    rotateSecret: (as) => accounts.rotateSecret(at, as),
    revokeSecret: (as) => accounts.revokeSecret({ ...at, secretId: scr ?? "" }, as),
    addKey: (as) => accounts.addKey({ ...at, x, y }, as),
    revokeKey: (as) => accounts.revokeKey({ ...at, kid: x }, as),
    addEnvelopeKey: (as) => accounts.addEnvelopeKey(newEnvelopeKey, as),
    revokeEnvelopeKey: (as) => accounts.revokeEnvelopeKey({ ...at, kid: envelopeKey.kid }, as),
    disableServiceAccount: (as) => accounts.disableServiceAccount(at, as),
    enableServiceAccount: (as) => accounts.enableServiceAccount(at, as),
    createDelegationPolicy: (as) =>
      delegations.createDelegationPolicy(
        { actorPrincipalId: prn ?? "", audiences: ["svc-notes"], scopes: ["notes.read"] },
        as,
      ),
    revokeDelegationPolicy: (as) => delegations.revokeDelegationPolicy({ policyId: dpo ?? "" }, as),
    createDelegation: (as) =>
      delegations.createDelegation({ policyId: dpo ?? "", audiences: ["svc-notes"], scopes: ["notes.read"] }, as),
    revokePolicyDelegation: (as) =>
      delegations.revokePolicyDelegation({ policyId: dpo ?? "", delegationId: dlg ?? "" }, as),
    revokeDelegation: (as) => delegations.revokeDelegation({ delegationId: dlg ?? "" }, as),
  }
  const writing = [PatService, ServiceAccountService, DelegationService]
    .flatMap((service) => service.methods)
    .filter(({ idempotency }) => idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS)
    .map(({ localName }) => localName)
    .filter((name) => name !== "exchangePat")
  expect(Object.keys(changes).toSorted()).toEqual(writing.toSorted())

  const { auth } = clientsOver(transport)
  const { accessToken } = await auth.externalLogin(await server.login("administrator"))
  await pats.createPat(newPat, bearer(accessToken))
  const outcomes = []
  for (const [name, change] of Object.entries(changes)) {
    outcomes.push([name, await refusal(change(bearer(accessToken)))])
  }
  expect(outcomes).toEqual(Object.keys(changes).map((name) => [name, refused]))
  expect((await pats.listPats({}, bearer(accessToken))).pats).toHaveLength(1)

  const other = await auth.externalLogin(await server.login("somebody else"))
  await pats.createPat(newPat, bearer(other.accessToken))
})

test.runIf(isLong)("administrative changes are limited", async () => {
  const { auth, pats } = clientsOver(createGrpcTransport({ baseUrl: server.url }))
  const by = bearer((await auth.externalLogin(await server.login("in a hurry"))).accessToken)
  const newPat = { name: "first", allowedAudiences: ["svc-notes"], scopes: ["notes.read"], expiresInDays: 1 }
  await pats.createPat(newPat, by)
  const ids = noIds(() => server.deps.random.bytes(10))
  for (const method of administrationMethods) {
    const { reason } = await callRaw(server, method, requestOf(server, method, ids), by)
    expect([method.name, reason === "RATE_LIMITED"]).toEqual([method.name, !isRead(method)])
  }
})

test.runIf(isLong)("a count of audit events is limited as a change, and a list is not", async () => {
  const { auth, audit } = clientsOver(createGrpcTransport({ baseUrl: server.url }))
  const by = bearer((await auth.externalLogin(await server.login("counts without a pause"))).accessToken)
  const time = { startTime: timestampFromMs(0), endTime: timestampFromMs(1) }
  await audit.countAuditEvents(time, by)
  expect(await refusal(audit.countAuditEvents(time, by))).toBe(refused)
  await audit.listAuditEvents({}, by)
})
