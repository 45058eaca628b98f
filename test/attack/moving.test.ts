// The holder of the transfer scope can copy, hold and delete all of an app's messaging data. So only one service
// account of that app may have it.
import { createClient } from "@connectrpc/connect"
import { newId } from "@signet/kernel/ids"
import { Step, TransferService } from "@signet/proto/transfer/v1/transfer_service"
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest"
import { accountProblem } from "../../server/kernel/machine/service-account.ts"
import { refusal } from "../support/clients.ts"
import { randomBytes } from "../support/messaging/device-parts.ts"
import { connectTo, moverOf } from "../support/messaging/moving.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { claimsOf } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let mover: string
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  mover = await (await moverOf(server))()
})
afterAll(() => server?.close())

const own = () => ({ appId: server.app.id, tenantId: "" })
const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const forged = (change: object) => server.keys.sign("at+jwt", { ...claimsOf(mover), ...change })

/** Returns the answers of all methods to this caller, for this place. */
async function answers(token: string, place: { appId: string; tenantId: string }): Promise<Set<string>> {
  const client = createClient(TransferService, connectTo(server.url))
  const transferId = randomBytes(16)
  const calls = [
    client.getPlace({ place }, as(token)),
    client.changePlace({ place, transferId, step: Step.HOLD }, as(token)),
    client.changePlace({ place, transferId, step: Step.ERASE }, as(token)),
    client.exportPage({ place, transferId }, as(token)),
    client.importPage({ place, transferId }, as(token)),
  ]
  return new Set(await Promise.all(calls.map((call) => refusal(call))))
}

test("a user may not transfer, whatever scopes their token has", async () => {
  const { accessToken } = await server.person("ann")
  expect(await answers(accessToken, own())).toEqual(new Set(["PermissionDenied PRINCIPAL_KIND_NOT_ALLOWED"]))
  const widened = server.keys.sign("at+jwt", { ...claimsOf(accessToken), scp: ["messaging.transfer"] })
  expect(await answers(widened, own())).toEqual(new Set(["PermissionDenied PRINCIPAL_KIND_NOT_ALLOWED"]))
})

test("a service without the scope, of another app, or of one tenant may not transfer", async () => {
  expect(await answers(forged({ scp: ["messaging.write"] }), own())).toEqual(
    new Set(["PermissionDenied MISSING_SCOPE"]),
  )
  const other = newId("app", Date.now(), randomBytes(10))
  expect(await answers(mover, { appId: other, tenantId: "" })).toEqual(new Set(["PermissionDenied APP_MISMATCH"]))
})

test("an open place can be neither exported, imported nor erased", async () => {
  const client = createClient(TransferService, connectTo(server.url))
  const transferId = randomBytes(16)
  const calls = [
    client.exportPage({ place: own(), transferId }, as(mover)),
    client.exportPage({ place: own(), transferId, cursor: "parts:" }, as(mover)),
    client.importPage({ place: own(), transferId }, as(mover)),
    client.changePlace({ place: own(), transferId, step: Step.ERASE }, as(mover)),
    client.changePlace({ place: own(), transferId, step: Step.RELEASE }, as(mover)),
  ]
  expect(new Set(await Promise.all(calls.map((call) => refusal(call))))).toEqual(
    new Set(["FailedPrecondition STATE_CONFLICT"]),
  )
})

test("an app's administrator cannot grant the scope", () => {
  const scopes = [{ key: "messaging.transfer", audience: "messaging", isDefault: false }]
  const app = { audiences: ["messaging"], scopes }
  const asked = {
    tenantId: null,
    authMethods: [],
    ownedAudiences: [],
    allowedAudiences: ["messaging"],
    scopes: ["messaging.transfer"],
    defaultScopes: [],
  }
  const grounds = { app, authAudience: "auth", makerScopes: new Set(["auth.service_accounts.write"]) }
  expect(accountProblem(asked, grounds)).toEqual({ reason: "SCOPE_NOT_GRANTED", field: "scopes" })
})

test("a token of the auth service's audience may not transfer where messaging has its own", async () => {
  const messagingAudience = "svc-messaging"
  const other = await startMessagingServer({ store: storyStore, messagingAudience })
  onTestFinished(() => other.close())
  const token = await (await moverOf(other, messagingAudience))()
  const client = createClient(TransferService, connectTo(other.url))
  const place = { appId: other.app.id, tenantId: "" }
  expect((await client.getPlace({ place }, as(token))).status).toBeDefined()
  const forAuth = other.keys.sign("at+jwt", { ...claimsOf(token), aud: "auth" })
  expect(await refusal(client.getPlace({ place }, as(forAuth)))).toBe("Unauthenticated AUDIENCE_MISMATCH")
})
