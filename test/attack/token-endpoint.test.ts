// Attacks on token exchange. Each was successful against some product.
import { createHash, randomBytes, sign } from "node:crypto"
import { newId } from "@signet/kernel/ids"
import { skewSeconds } from "@signet/kernel/token/claims"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, refusal } from "../support/clients.ts"
import { addMachine, addPat, addPolicy, basic, type Machine, postForm } from "../support/machines.ts"
import { openPlace } from "../support/places.ts"
import { storyStore } from "../support/postgres.ts"
import {
  accessTokenType,
  claimsOf,
  patTokenType,
  refused,
  startTokenWorld,
  type TokenWorld,
  tokenExchange,
} from "../support/token-world.ts"

let world: TokenWorld
beforeAll(async () => {
  world = await startTokenWorld({ store: storyStore })
})
afterAll(() => world?.server.close())

const credentials = { grant_type: "client_credentials", audience: "svc-notes" }
const dsaEncoding = "ieee-p1363"
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
const actOf = ({ account }: Machine) => ({
  sub: account.principalId,
  principal_type: "service",
  client_id: account.clientId,
})

describe("silent subject removal (CVE-2026-9704)", () => {
  const onBehalf = { audience: "svc-notes", scope: "notes.read", job_id: "j" }
  test.each<[string, string]>([
    ["an empty subject_token", `grant_type=${tokenExchange}&subject_token=&subject_token_type=${accessTokenType}`],
    [
      "a subject_token without a value",
      `grant_type=${tokenExchange}&subject_token&subject_token_type=${accessTokenType}`,
    ],
    [
      "an empty subject_token beside a delegation",
      "grant_type=on_behalf_of&subject_token=&delegation_id=dlg_00000000000000000000000000",
    ],
    ["no subject_token", `grant_type=on_behalf_of&subject_token_type=${accessTokenType}`],
    ["a subject_token of white space", `grant_type=on_behalf_of&subject_token=+&subject_token_type=${accessTokenType}`],
    ["client_credentials with a subject_token", "grant_type=client_credentials&subject_token=x"],
    ["client_credentials with an empty subject_token", "grant_type=client_credentials&subject_token="],
    ["an empty personal access token", "grant_type=pat&pat="],
    [
      "an empty actor_token",
      `grant_type=on_behalf_of&subject_token=x&subject_token_type=${accessTokenType}&actor_token=&actor_token_type=${accessTokenType}`,
    ],
  ])("%s never becomes the service's own authority", async (_, form) => {
    const answer = await world.token(`${form}&${new URLSearchParams(onBehalf)}`, basic(world.gateway))
    expect(answer.status).toBe(400)
    expect(answer.body).not.toHaveProperty("access_token")
  })
})

describe("confused deputy", () => {
  test("a service cannot exchange a token for another audience", async () => {
    const user = await world.signIn()
    // The gateway uses the notes service's token, and the stranger the gateway's.
    expect(refused(await world.exchange({ subject_token: user.tokens["svc-notes"] }))).toBe(
      "400 invalid_grant AUDIENCE_MISMATCH",
    )
    await addPolicy(world.server, world.stranger)
    expect(refused(await world.exchange({ subject_token: user.tokens["svc-gateway"] }, world.stranger))).toBe(
      "400 invalid_grant AUDIENCE_MISMATCH",
    )
    expect((await world.exchange({ subject_token: user.tokens["svc-stranger"] }, world.stranger)).status).toBe(200)
  })

  test("a denied exchange is audited with its caller and reason", async () => {
    const user = await world.signIn()
    await world.exchange({ subject_token: user.tokens["svc-notes"] })
    const rows = await world.server.store.db
      .selectFrom("audit_event")
      .selectAll()
      .where("kind", "=", "delegation.denied")
      .execute()
    expect(rows).toContainEqual(
      expect.objectContaining({
        reason: "AUDIENCE_MISMATCH",
        outcome: "DENIED",
        actor_principal_id: world.gateway.account.principalId,
        subject_principal_id: user.principalId,
      }),
    )
  })

  test("introspection reveals nothing to a service about tokens of another audience (CVE-2026-37979)", async () => {
    const user = await world.signIn()
    const asking = await addMachine(world.server, { ownedAudiences: [], scopes: ["auth.introspect"] })
    expect((await world.introspect(user.tokens["svc-notes"] ?? "", asking)).body).toEqual({ active: false })
  })
})

describe("with a bearer token", () => {
  const send = (path: string, form: Record<string, string>, by: string) =>
    postForm(`${world.server.url}/auth/token/${path}`, form, { authorization: `Bearer ${by}` })
  const forged = (claims: Record<string, unknown>, change: Record<string, unknown>) =>
    world.server.keys.sign("at+jwt", {
      ...claims,
      jti: newId("jti", Date.now(), new Uint8Array(randomBytes(10))),
      ...change,
    })
  const decoded = (token: string) => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())

  test("only a service introspects tokens: with an active token for this issuer, with the scope", async () => {
    const user = await world.signIn()
    const asking = await addMachine(world.server, {
      ownedAudiences: ["svc-asked"],
      allowedAudiences: ["auth"],
      scopes: ["auth.introspect"],
      defaultScopes: ["auth.introspect"],
    })
    const form = { grant_type: "client_credentials", audience: "auth" }
    const [own, ended] = [await world.token(form, basic(asking)), await world.token(form, basic(asking))]
    const token = forged(decoded(user.tokens["svc-gateway"] ?? ""), { aud: "svc-asked" })
    const ask = (by: string) => send("introspect", { token }, by)
    expect((await ask(String(own.body.access_token))).body).toMatchObject({ active: true, aud: "svc-asked" })
    await world.revoke({ token: String(ended.body.access_token) }, basic(asking))
    const scp = ["auth.introspect"]
    const rows: [string, string][] = [
      [String(ended.body.access_token), "401 invalid_token TOKEN_REVOKED"],
      [forged(claimsOf(own), { aud: "svc-notes" }), "401 invalid_token AUDIENCE_MISMATCH"],
      [forged(claimsOf(own), { scp: [] }), "403 insufficient_scope MISSING_SCOPE"],
      [forged(decoded(user.tokens.auth ?? ""), { scp }), "403 insufficient_scope MISSING_SCOPE"],
      ["x", "401 invalid_token MALFORMED_CREDENTIAL"],
    ]
    for (const [by, expected] of rows) expect(refused(await ask(by)), expected).toBe(expected)
  })

  test("a hint that names another type does not hide an access token", async () => {
    const user = await world.signIn()
    const contextTokenType = "urn:signet:params:oauth:token-type:context"
    const answer = await world.introspect(user.tokens["svc-notes"] ?? "", world.notes, contextTokenType)
    expect(answer.body).toMatchObject({ active: true, token_type: "Bearer" })
  })

  test("a user revokes only their own tokens, with a token for this issuer", async () => {
    const [user, other] = [await world.signIn(), await world.signIn()]
    const token = user.tokens["svc-notes"] ?? ""
    const rows: [string, string][] = [
      [other.tokens.auth ?? "", "400 unauthorized_client CLIENT_NOT_ALLOWED"],
      [user.tokens["svc-gateway"] ?? "", "401 invalid_token AUDIENCE_MISMATCH"],
      ["x", "401 invalid_token MALFORMED_CREDENTIAL"],
    ]
    for (const [by, expected] of rows) expect(refused(await send("revoke", { token }, by)), expected).toBe(expected)
    expect(refused(await world.revoke({ token }))).toBe("401 invalid_client CLIENT_INVALID")
    expect((await world.introspect(token)).body).toMatchObject({ active: true })
    expect((await send("revoke", { token }, user.tokens.auth ?? "")).status).toBe(200)
    // The revocation lasts as long as a verifier whose clock is behind accepts the token.
    const { jti, exp } = decoded(token)
    const query = world.server.store.db.selectFrom("revocation").select("expires_at").where("key", "=", jti)
    expect((await query.executeTakeFirst())?.expires_at).toEqual(new Date((exp + skewSeconds) * 1_000))
    expect((await world.introspect(token)).body).toEqual({ active: false })
  })
})

describe("across apps and tenants", () => {
  test("a service cannot act for another app's user", async () => {
    const other = { ...world.server.app, id: newId("app", 9, new Uint8Array(10).fill(9)) }
    await world.server.deps.store.transaction((tx) => tx.apps.putApp(other))
    const abroad = await addMachine(world.server, { appId: other.id, ownedAudiences: ["svc-abroad"] })
    await addPolicy(world.server, abroad)
    const user = await world.signIn()
    const at = world.server.deps.clock.nowMs()
    // A token of this app for the other app's audience, as a misconfigured app would issue it.
    const subject_token = world.server.keys.sign("at+jwt", {
      ...JSON.parse(Buffer.from((user.tokens["svc-gateway"] ?? "").split(".")[1] ?? "", "base64url").toString()),
      aud: "svc-abroad",
      jti: newId("jti", at, new Uint8Array(10)),
    })
    expect(refused(await world.exchange({ subject_token }, abroad))).toBe("400 invalid_grant APP_MISMATCH")
  })

  test("a service of one tenant cannot act for a user outside any tenant", async () => {
    const tenantId = newId("ten", 9, new Uint8Array(10).fill(8))
    const bound = await addMachine(world.server, { tenantId, ownedAudiences: ["svc-bound"] })
    await addPolicy(world.server, bound, { tenantId })
    const user = await world.signIn()
    const at = world.server.deps.clock.nowMs()
    const subject_token = world.server.keys.sign("at+jwt", {
      ...JSON.parse(Buffer.from((user.tokens["svc-gateway"] ?? "").split(".")[1] ?? "", "base64url").toString()),
      aud: "svc-bound",
      jti: newId("jti", at, new Uint8Array(10)),
    })
    expect(refused(await world.exchange({ subject_token }, bound))).toBe("400 invalid_grant TENANT_MISMATCH")
  })

  test("a service of one tenant gets no token for another", async () => {
    const tenantId = newId("ten", 9, new Uint8Array(10).fill(7))
    const bound = await addMachine(world.server, { tenantId })
    const other = newId("ten", 9, new Uint8Array(10).fill(6))
    expect(claimsOf(await world.token(credentials, basic(bound))).tenant_id).toBe(tenantId)
    expect(refused(await world.token({ ...credentials, tenant_id: other }, basic(bound)))).toBe(
      "400 access_denied TENANT_MISMATCH",
    )
  })
})

test("a service that is suspended in a tenant gets no token for the tenant's contexts", async () => {
  const { deps, store, app } = world.server
  const [tenantId, contextId] = [
    newId("ten", 9, new Uint8Array(10).fill(5)),
    newId("ctx", 9, new Uint8Array(10).fill(5)),
  ]
  const { account, ...machine } = await addMachine(world.server, { tenantId })
  await openPlace(deps.store, { appId: app.id, tenantId, contextId })
  const ask = () => world.token({ ...credentials, context_id: contextId }, basic({ account, ...machine }))
  // A member of the tenant is not automatically a member of its contexts.
  expect(refused(await ask())).toBe("400 access_denied MEMBERSHIP_INACTIVE")
  await deps.store.transaction(async (tx) => {
    const [own] = await tx.identities.findMemberships(account.principalId, app.id)
    if (own === undefined) throw new Error("no membership")
    await tx.identities.insertMembership({ ...own, id: newId("mem", 9, new Uint8Array(10).fill(5)), contextId })
  })
  expect(claimsOf(await ask())).toMatchObject({ tenant_id: tenantId, context_id: contextId })
  const memberships = store.db.updateTable("membership").where("principal_id", "=", account.principalId)
  await memberships.set({ status: "SUSPENDED" }).where("context_id", "is", null).execute()
  expect(refused(await ask())).toBe("400 access_denied MEMBERSHIP_INACTIVE")
})

describe("actor tokens", () => {
  test("a delegated token cannot be delegated again", async () => {
    const user = await world.signIn()
    await addPolicy(world.server, world.notes)
    const first = await world.exchange({ subject_token: user.tokens["svc-gateway"] })
    const second = await world.exchange(
      { subject_token: String(first.body.access_token), scope: "notes.read" },
      world.notes,
    )
    expect(second.body).not.toHaveProperty("access_token")
    const scoped = await addMachine(world.server, { ownedAudiences: ["svc-chain"] })
    await addPolicy(world.server, scoped)
    const forged = world.server.keys.sign("at+jwt", { ...claimsOf(first), aud: "svc-chain" })
    expect(refused(await world.exchange({ subject_token: forged }, scoped))).toBe(
      "400 access_denied DELEGATION_CHAIN_TOO_DEEP",
    )
  })

  test.each<[string, (by: Record<string, unknown>) => object]>([
    ["scopes", () => ({ scp: ["notes.admin"] })],
    ["an actor", (act) => ({ act })],
    ["the claims of a delegated token", (act) => ({ act, job_id: "j", gty: "on_behalf_of", sid: undefined })],
  ])("a token to which its bearer added %s is refused for its signature", async (_, change) => {
    const user = await world.signIn()
    const by = actOf(world.gateway)
    const [header, payload = "", signature = ""] = (user.tokens["svc-gateway"] ?? "").split(".")
    const claims = { ...JSON.parse(Buffer.from(payload, "base64url").toString()), ...change(by) }
    const body = encoded(claims)
    const own = sign("sha256", Buffer.from(`${header}.${body}`), { key: world.gateway.privateKey, dsaEncoding })
    const none = encoded({ alg: "none", typ: "at+jwt" })
    const rows = [
      [`${header}.${body}.${signature}`, "SIGNATURE_INVALID"],
      [`${header}.${body}.${own.toString("base64url")}`, "SIGNATURE_INVALID"],
      [`${none}.${body}.`, "ALG_NOT_ALLOWED"],
    ]
    for (const [subject_token, reason] of rows) {
      expect(refused(await world.exchange({ subject_token }))).toBe(`400 invalid_grant ${reason}`)
      expect(await refusal(world.clients.auth.me({}, bearer(subject_token ?? "")))).toContain(reason)
    }
  })

  test("a session's token with an actor is malformed, even if the issuer signed it", async () => {
    const user = await world.signIn()
    const [, payload = ""] = (user.tokens["svc-gateway"] ?? "").split(".")
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString())
    for (const change of [{ act: actOf(world.gateway) }, { act: actOf(world.gateway), job_id: "j" }, { job_id: "j" }]) {
      const subject_token = world.server.keys.sign("at+jwt", { ...claims, ...change })
      expect(refused(await world.exchange({ subject_token }))).toBe("400 invalid_grant MALFORMED_CREDENTIAL")
    }
  })

  test("the actor of a new token is its authenticated client: no parameter changes it", async () => {
    const user = await world.signIn()
    const act = JSON.stringify(actOf(world.stranger))
    const asked = { subject_token: user.tokens["svc-gateway"], act, actor: act, client_id: undefined }
    expect(claimsOf(await world.exchange(asked))).toMatchObject({ act: actOf(world.gateway) })
    const named = { ...asked, client_id: world.stranger.account.clientId }
    expect((await world.exchange(named)).body).not.toHaveProperty("access_token")
  })

  test("an actor token must be the caller's own, for this service, and a service's", async () => {
    const user = await world.signIn()
    const form = {
      grant_type: "on_behalf_of",
      subject_token: user.tokens["svc-gateway"] ?? "",
      subject_token_type: accessTokenType,
      actor_token_type: accessTokenType,
      audience: "svc-notes",
      scope: "notes.read",
      job_id: "j",
    }
    const own = String(
      (await world.token({ ...credentials, audience: "auth" }, basic(world.gateway))).body.access_token,
    )
    const elsewhere = String((await world.token(credentials, basic(world.gateway))).body.access_token)
    const answer = await world.token({ ...form, actor_token: own })
    expect(claimsOf(answer)).toMatchObject({ act: { sub: world.gateway.account.principalId } })
    const { clientId } = world.gateway.account
    expect(await world.token({ ...form, actor_token: own, client_id: clientId })).toMatchObject({ status: 200 })
    const wrong = [elsewhere, user.tokens.auth ?? "", String(answer.body.access_token), "x"]
    for (const actor_token of wrong) {
      expect(refused(await world.token({ ...form, actor_token }))).toBe("401 invalid_client CLIENT_INVALID")
    }
    expect(refused(await world.token({ ...form, actor_token: own }, basic(world.stranger)))).toBe(
      "400 invalid_request AMBIGUOUS_CREDENTIAL",
    )
    const named = await world.token({ ...form, actor_token: own, client_id: world.stranger.account.clientId })
    expect(refused(named)).toBe("401 invalid_client CLIENT_INVALID")
    await world.revoke({ token: own }, basic(world.gateway))
    expect(refused(await world.token({ ...form, actor_token: own }))).toBe("401 invalid_client CLIENT_INVALID")
  })

  test("a delegated token is refused by a requirement that does not allow delegation", async () => {
    const user = await world.signIn()
    const answer = await world.exchange({ subject_token: user.tokens["svc-gateway"] })
    const forAuth = world.server.keys.sign("at+jwt", { ...claimsOf(answer), aud: "auth" })
    const refused = await Promise.all([
      refusal(world.clients.auth.me({}, bearer(forAuth))),
      refusal(world.clients.delegations.listDelegations({}, bearer(forAuth))),
    ])
    expect(new Set(refused)).toEqual(new Set(["PermissionDenied ACTOR_NOT_ALLOWED"]))
  })

  test("the user's sign-out ends delegated tokens and prevents new ones", async () => {
    const user = await world.signIn()
    const subject_token = user.tokens["svc-gateway"]
    const token = String((await world.exchange({ subject_token })).body.access_token)
    expect((await world.introspect(token)).body).toMatchObject({ active: true, gty: "on_behalf_of" })
    await world.clients.auth.logout({ refreshToken: user.refreshToken })
    expect((await world.introspect(token)).body).toEqual({ active: false })
    expect(refused(await world.exchange({ subject_token }))).toBe("400 invalid_grant SESSION_REVOKED")
  })

  test("disabling an actor ends its delegated tokens", async () => {
    const user = await world.signIn()
    const actor = await addMachine(world.server, { ownedAudiences: ["svc-brief"] })
    await addPolicy(world.server, actor)
    const at = world.server.deps.clock.nowMs()
    const subject_token = world.server.keys.sign("at+jwt", {
      ...JSON.parse(Buffer.from((user.tokens["svc-gateway"] ?? "").split(".")[1] ?? "", "base64url").toString()),
      aud: "svc-brief",
      jti: newId("jti", at, new Uint8Array(10)),
    })
    const token = String((await world.exchange({ subject_token }, actor)).body.access_token)
    expect((await world.introspect(token)).body.active).toBe(true)
    await world.server.deps.store.transaction((tx) => tx.serviceAccounts.setStatus(actor.account.id, "DISABLED", at))
    expect((await world.introspect(token)).body).toEqual({ active: false })
    expect(refused(await world.exchange({ subject_token }, actor))).toBe("401 invalid_client CLIENT_INVALID")
  })
})

describe("an exchanged personal access token", () => {
  test("its tokens cannot be exchanged to act for the user", async () => {
    const user = await world.signIn()
    const { token } = await addPat(world.server, user, { allowedAudiences: ["svc-gateway"], scopes: ["gateway.use"] })
    const minted = await world.token({ grant_type: "pat", pat: token })
    expect(minted.body.scope).toBe("gateway.use")
    expect(refused(await world.exchange({ subject_token: String(minted.body.access_token) }))).toBe(
      "400 invalid_grant SUBJECT_TOKEN_INVALID",
    )
    expect(refused(await world.exchange({ subject_token: token, subject_token_type: patTokenType }))).toBe(
      "400 invalid_request INVALID_FIELD",
    )
  })

  test("its tokens cannot create a delegation, and their scopes are those that the user still holds", async () => {
    const user = await world.signIn()
    const { token } = await addPat(world.server, user, {
      allowedAudiences: ["auth", "svc-notes"],
      scopes: ["notes.read", "notes.admin", "auth.self", "auth.delegation.write"],
    })
    const minted = await world.token({
      grant_type: "pat",
      pat: token,
      audience: "svc-notes",
      scope: "notes.read notes.admin",
    })
    expect(minted.body.scope).toBe("notes.read")
    const forAuth = await world.token({ grant_type: "pat", pat: token, audience: "auth" })
    expect(forAuth.body.scope).toBe("auth.self")
    const policy = await addPolicy(world.server, world.gateway)
    const create = world.clients.delegations.createDelegation(
      { policyId: policy.id, audiences: ["svc-notes"], scopes: ["notes.read"] },
      bearer(String(forAuth.body.access_token)),
    )
    expect(await refusal(create)).toBe("PermissionDenied PRINCIPAL_KIND_NOT_ALLOWED")
  })

  test("its exchange names one of its allowed audiences", async () => {
    const user = await world.signIn()
    const { token } = await addPat(world.server, user, { allowedAudiences: ["svc-notes", "svc-gateway"] })
    expect(refused(await world.token({ grant_type: "pat", pat: token }))).toBe("400 invalid_request INVALID_FIELD")
    expect(refused(await world.token({ grant_type: "pat", pat: token, audience: "auth" }))).toBe(
      "400 invalid_target AUDIENCE_NOT_ALLOWED",
    )
  })
})

test("the audit contains no secret and no token", async () => {
  const user = await world.signIn()
  const { token } = await addPat(world.server, user)
  await world.token({ grant_type: "pat", pat: token })
  await world.exchange({ subject_token: user.tokens["svc-gateway"] })
  await world.revoke({ token })
  const text = JSON.stringify(await world.server.store.db.selectFrom("audit_event").selectAll().execute())
  for (const secret of [token, world.gateway.secret, user.tokens["svc-gateway"] ?? "", user.refreshToken]) {
    expect(text).not.toContain(secret)
    expect(text).not.toContain(createHash("sha256").update(secret).digest("hex"))
  }
  expect(text).toContain("delegation.used")
  expect(text).toContain("pat.leaked")
})
