// Each issue, use, refusal and end of a token is audited: the event, the actor, the subject and the token's id.
import { afterAll, beforeAll, expect, test } from "vitest"
import { bearer, refusal } from "../support/clients.ts"
import { addPolicy, assertion, basic } from "../support/machines.ts"
import { signIn } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"
import { accessTokenType, claimsOf, refused, startTokenWorld, type TokenWorld } from "../support/token-world.ts"

const contextTokenType = "urn:signet:params:oauth:token-type:context"
let world: TokenWorld
beforeAll(async () => {
  world = await startTokenWorld({ store: storyStore })
})
afterAll(() => world?.server.close())

interface Row {
  kind: string
  outcome: string
  reason: string | null
  actor: string | null
  subject: string | null
  session: boolean
  target: string | null
}

/** The audit events of these kinds about one subject, in order. */
async function rowsOf(subject: string, prefixes: readonly string[]): Promise<Row[]> {
  const { db } = world.server.store
  const rows = await db
    .selectFrom("audit_event")
    .selectAll()
    .where("subject_principal_id", "=", subject as never)
    .orderBy("id")
    .execute()
  for (const row of rows) expect(row.app_id).toBe(world.server.app.id)
  return rows
    .filter(({ kind }) => prefixes.some((prefix) => kind.startsWith(prefix)))
    .map((row) => ({
      kind: row.kind,
      outcome: row.outcome,
      reason: row.reason,
      actor: row.actor_principal_id,
      subject: row.subject_principal_id,
      session: row.session_id !== null,
      target: row.target_id,
    }))
}
const row = (kind: string, subject: string, change: Partial<Row> = {}): Row => ({
  kind,
  outcome: "SUCCESS",
  reason: null,
  actor: subject,
  subject,
  session: true,
  target: null,
  ...change,
})

test("of a session: each refresh, each retry, a reused token, and its end", async () => {
  const { auth } = world.clients
  const user = await world.signIn()
  const retryKey = "0123456789abcdefghijkl"
  const next = await auth.refresh({ refreshToken: user.refreshToken, retryKey })
  await auth.refresh({ refreshToken: user.refreshToken, retryKey })
  await auth.refresh({ refreshToken: next.refreshToken })
  expect(await refusal(auth.refresh({ refreshToken: next.refreshToken }))).toMatch(/REFRESH_TOKEN_REUSED$/)
  expect(
    (await rowsOf(user.principalId, ["session.refresh"])).map(({ kind, outcome, reason }) => [kind, outcome, reason]),
  ).toEqual([
    ["session.refreshed", "SUCCESS", null],
    ["session.refresh_retried", "SUCCESS", null],
    ["session.refreshed", "SUCCESS", null],
    ["session.refresh_reuse", "DENIED", "REFRESH_TOKEN_REUSED"],
  ])
  const other = await world.signIn()
  expect((await world.revoke({ token: other.refreshToken })).status).toBe(200)
  // An ended session, or one that never existed, does not end a second time.
  expect((await world.revoke({ token: other.refreshToken })).status).toBe(200)
  expect(await rowsOf(other.principalId, ["session.revoked"])).toEqual([
    row("session.revoked", other.principalId, { actor: null }),
  ])
})

test("of a personal access token: its creation, its uses, and who revoked it", async () => {
  const { pats } = world.clients
  const { principalId, token } = await signIn(world.server, world.clients, `person ${Math.random()}`)
  const made = { name: "cli", allowedAudiences: ["svc-notes"], scopes: ["notes.read"] }
  const ids: string[] = []
  const make = async () => {
    const { pat, token: secret } = await pats.createPat(made, bearer(token))
    ids.push(pat?.id ?? "")
    return { id: pat?.id ?? "", secret }
  }
  const [first, second, third] = [await make(), await make(), await make()]
  await pats.exchangePat({ pat: first.secret })
  const { pats: listed } = await pats.listPats({}, bearer(token))
  expect(listed.filter(({ lastUsedAt }) => lastUsedAt !== undefined).map(({ id }) => id)).toEqual([first.id])
  await pats.revokePat({ patId: first.id }, bearer(token))
  await pats.revokePat({ patId: first.id }, bearer(token))
  await world.revoke({ token: second.secret }, bearer(token).headers)
  await world.revoke({ token: third.secret }, bearer((await world.signIn()).tokens.auth ?? "").headers)
  await world.revoke({ token: third.secret }, bearer(token).headers)
  expect(await rowsOf(principalId, ["pat."])).toEqual([
    ...ids.map((target) => row("pat.created", principalId, { target })),
    row("pat.used", principalId, { session: false, target: first.id }),
    row("pat.revoked", principalId, { target: first.id }),
    row("pat.revoked", principalId, { session: false, target: second.id }),
    // The token's subject did not find the leak.
    row("pat.leaked", principalId, { actor: null, session: false, target: third.id }),
  ])
})

test("of an access token: who revoked it, its subject or a service", async () => {
  const user = await world.signIn()
  const [own, ofService] = [user.tokens["svc-gateway"] ?? "", user.tokens["svc-notes"] ?? ""]
  const jti = (token: string) => String(claimsOf({ body: { access_token: token } } as never).jti)
  expect((await world.revoke({ token: own }, bearer(user.tokens.auth ?? "").headers)).status).toBe(200)
  expect((await world.revoke({ token: ofService, ...assertion(world.notes) })).status).toBe(200)
  expect(await rowsOf(user.principalId, ["token."])).toEqual([
    row("token.revoked", user.principalId, { target: jti(own) }),
    row("token.revoked", user.principalId, { actor: world.notes.account.principalId, target: jti(ofService) }),
  ])
})

test("of a service: each token of its own, and each context token", async () => {
  const { account } = world.stranger
  const asked = { grant_type: "client_credentials" }
  const token = await world.token({ ...asked, audience: "svc-notes" }, basic(world.stranger))
  const context = await world.token({ ...asked, requested_token_type: contextTokenType }, basic(world.stranger))
  expect(await rowsOf(account.principalId, ["token."])).toEqual([
    row("token.issued", account.principalId, { session: false, target: String(claimsOf(token).jti) }),
    row("token.issued", account.principalId, { session: false, target: String(claimsOf(context).jti) }),
  ])
})

test("of an exchange: its policy, its subject, and the reason of a refusal", async () => {
  const user = await world.signIn()
  const policy = await addPolicy(world.server, world.stranger)
  const actor = world.stranger.account.principalId
  const exchange = (subject_token = "", change = {}) => world.exchange({ subject_token, ...change }, world.stranger)
  expect((await exchange(user.tokens["svc-stranger"])).status).toBe(200)
  expect(refused(await exchange(user.tokens["svc-stranger"], { scope: "notes.none" }))).toMatch(/SCOPE_NOT_GRANTED$/)
  const context = await world.token(
    {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      requested_token_type: contextTokenType,
      subject_token_type: accessTokenType,
      subject_token: user.tokens["svc-stranger"] ?? "",
    },
    basic(world.stranger),
  )
  const denied = { outcome: "DENIED", reason: "SCOPE_NOT_GRANTED", actor }
  expect(await rowsOf(user.principalId, ["delegation", "token."])).toEqual([
    row("delegation.used", user.principalId, { actor, target: policy.id }),
    row("delegation.denied", user.principalId, denied),
    row("token.exchanged", user.principalId, { actor, target: String(claimsOf(context).jti) }),
  ])
})

test("every access token leads by its id to the event of its issue, and to its revocation", async () => {
  const { auth, pats, audit } = world.clients
  const admin = await signIn(world.server, world.clients, `admin ${Math.random()}`, { scopes: ["auth.audit.read"] })
  const kindsOf = async (token: string) => {
    const targetId = String(claimsOf({ body: { access_token: token } } as never).jti)
    const { auditEvents } = await audit.listAuditEvents({ targetId }, bearer(admin.token))
    return auditEvents.map(({ kind }) => kind)
  }
  const user = await world.signIn()
  const signedIn = Object.values(user.tokens)
  expect(signedIn.length).toBeGreaterThan(2)
  for (const token of signedIn) expect(await kindsOf(token)).toEqual(["session.created"])
  const retryKey = "0123456789abcdefghijkm"
  const next = await auth.refresh({ refreshToken: user.refreshToken, retryKey })
  expect(await kindsOf(next.accessToken)).toEqual(["session.refreshed"])
  const retried = await auth.refresh({ refreshToken: user.refreshToken, retryKey })
  expect(await kindsOf(retried.accessToken)).toEqual(["session.refresh_retried"])

  const asked = { name: "cli", allowedAudiences: ["svc-notes"], scopes: ["notes.read"] }
  const { token: pat } = await pats.createPat(asked, bearer(user.tokens.auth ?? ""))
  expect(await kindsOf((await pats.exchangePat({ pat })).accessToken)).toEqual(["pat.used"])
  const acting = await world.exchange({ subject_token: user.tokens["svc-gateway"] })
  expect(await kindsOf(String(acting.body.access_token))).toEqual(["delegation.used"])
  const own = await world.token({ grant_type: "client_credentials", audience: "svc-notes" }, basic(world.stranger))
  expect(await kindsOf(String(own.body.access_token))).toEqual(["token.issued"])

  const ended = user.tokens["svc-notes"] ?? ""
  await world.revoke({ token: ended, ...assertion(world.notes) })
  expect(await kindsOf(ended)).toEqual(["token.revoked", "session.created"])
  // The other tokens of the same sign-in were not revoked.
  expect(await kindsOf(user.tokens.auth ?? "")).toEqual(["session.created"])
})

test("of a delegation: who created and ended the policy, and who gave and withdrew consent, once each", async () => {
  const { delegations } = world.clients
  const scopes = ["auth.delegation.write"]
  const admin = await signIn(world.server, world.clients, `admin ${Math.random()}`, { scopes })
  const user = await signIn(world.server, world.clients, `person ${Math.random()}`)
  const asked = { audiences: ["svc-notes"], scopes: ["notes.read"] }
  const actorPrincipalId = world.gateway.account.principalId
  const { policy } = await delegations.createDelegationPolicy(
    { ...asked, actorPrincipalId, allowStanding: true, maxSeconds: 60 },
    bearer(admin.token),
  )
  expect(policy?.maxSeconds).toBe(60)
  const policyId = policy?.id ?? ""
  const { delegation } = await delegations.createDelegation({ ...asked, policyId }, bearer(user.token))
  const delegationId = delegation?.id ?? ""
  for (let time = 0; time < 2; time++) {
    await delegations.revokeDelegation({ delegationId }, bearer(user.token))
    await delegations.revokeDelegationPolicy({ policyId }, bearer(admin.token))
  }
  expect(await rowsOf(user.principalId, ["delegation"])).toEqual([
    row("delegation.created", user.principalId, { target: delegationId }),
    row("delegation.revoked", user.principalId, { target: delegationId }),
  ])
  expect(await rowsOf(admin.principalId, ["delegation"])).toEqual([
    row("delegation_policy.created", admin.principalId, { target: policyId }),
    row("delegation_policy.revoked", admin.principalId, { target: policyId }),
  ])
})
