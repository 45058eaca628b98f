// Each error of RFC 6749 section 5.2 and related ones, as standard clients get them; and the same refusals over RPC.
import { Code, ConnectError } from "@connectrpc/connect"
import { buildOpaque } from "@signet/kernel/token/opaque"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { clientsOver, protocols } from "../support/clients.ts"
import { addMachine, addPat, addPolicy, assertion, basic, type Machine, postForm } from "../support/machines.ts"
import { storyStore } from "../support/postgres.ts"
import {
  accessTokenType,
  claimsOf,
  refused,
  startTokenWorld,
  type TokenWorld,
  tokenExchange,
} from "../support/token-world.ts"

let world: TokenWorld
let poor: Machine
let wide: Machine
beforeAll(async () => {
  world = await startTokenWorld({ store: storyStore })
  poor = await addMachine(world.server, { allowedAudiences: [] })
  wide = await addMachine(world.server, { scopes: ["notes.read", "gateway.use"] })
})
afterAll(() => world?.server.close())

const credentials = { grant_type: "client_credentials", audience: "svc-notes" }
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
const tenant = `ten_${"0".repeat(26)}`
const place = `ctx_${"0".repeat(26)}`
const asContext = { requested_token_type: "urn:signet:params:oauth:token-type:context" }
const ofToken = { grant_type: tokenExchange, subject_token: "a.b.c", subject_token_type: accessTokenType }
const onBehalf = { ...ofToken, audience: "svc-notes", scope: "notes.read", job_id: "j" }
const context = { ...ofToken, ...asContext }
const misplaced = "400 invalid_request INVALID_FIELD"
const unknownPat = "sgpat_000000000000AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA295c7g"
const standing = {
  grant_type: "on_behalf_of",
  delegation_id: `dlg_${"0".repeat(26)}`,
  audience: "svc-notes",
  scope: "notes.read",
  job_id: "j",
}
const pat = { grant_type: "pat", pat: unknownPat }

describe("the token endpoint answers", () => {
  const client = () => basic(world.gateway)
  const wrong = () => basic({ ...world.gateway, secret: world.notes.secret })
  type Row = [string, Record<string, string> | string, (() => Record<string, string>) | undefined, string]
  test.each<Row>([
    ["an empty request", "", undefined, "400 invalid_request INVALID_FIELD"],
    ["no grant", { audience: "svc-notes" }, client, "400 invalid_request INVALID_FIELD"],
    ["an unknown grant", { grant_type: "password" }, client, "400 unsupported_grant_type GRANT_TYPE_UNSUPPORTED"],
    ["no client", credentials, undefined, "401 invalid_client CLIENT_INVALID"],
    ["a wrong secret", credentials, wrong, "401 invalid_client CLIENT_INVALID"],
    ["a garbled header", credentials, () => ({ authorization: "Basic ???" }), "401 invalid_client CLIENT_INVALID"],
    ["another scheme", credentials, () => ({ authorization: "Digest x" }), "401 invalid_client CLIENT_INVALID"],
    ["a bearer token", credentials, () => ({ authorization: "Bearer x.y.z" }), "401 invalid_client CLIENT_INVALID"],
    ["no audience", { grant_type: "client_credentials" }, client, "400 invalid_request INVALID_FIELD"],
    [
      "an audience that is not its own",
      { ...credentials, audience: "svc-mail" },
      client,
      "400 invalid_target AUDIENCE_NOT_ALLOWED",
    ],
    ["an unknown scope", { ...credentials, scope: "notes.none" }, client, "400 invalid_scope SCOPE_NOT_GRANTED"],
    ["a malformed scope", { ...credentials, scope: 'a"b' }, client, "400 invalid_scope INVALID_FIELD"],
    ["a client without audiences", credentials, () => basic(poor), "400 unauthorized_client CLIENT_NOT_ALLOWED"],
    [
      "a tenant that it is no member of",
      { ...credentials, tenant_id: `ten_${"0".repeat(26)}` },
      client,
      "400 access_denied MEMBERSHIP_INACTIVE",
    ],
    [
      "a context that it is no member of",
      { ...credentials, context_id: `ctx_${"0".repeat(26)}` },
      client,
      "400 access_denied MEMBERSHIP_INACTIVE",
    ],
    [
      "an unknown personal access token",
      { grant_type: "pat", pat: unknownPat },
      undefined,
      "400 invalid_grant PAT_INVALID",
    ],
    [
      "a garbled personal access token",
      { grant_type: "pat", pat: "sgpat_x" },
      undefined,
      "400 invalid_grant PAT_INVALID",
    ],
    [
      "a personal access token and a client",
      { grant_type: "pat", pat: unknownPat },
      client,
      "400 invalid_request INVALID_FIELD",
    ],
    [
      "a personal access token and an assertion",
      { ...pat, client_assertion: "x", client_assertion_type: assertionType },
      undefined,
      "400 invalid_request INVALID_FIELD",
    ],
    ["an unknown standing delegation", standing, client, "400 invalid_grant DELEGATION_EXPIRED"],
    ["an exchange without a subject token", { grant_type: tokenExchange }, client, "400 invalid_request INVALID_FIELD"],
    ["a parameter of another grant", { ...credentials, job_id: "j" }, client, "400 invalid_request INVALID_FIELD"],
    ["a tenant with a personal access token", { ...pat, tenant_id: tenant }, undefined, misplaced],
    ["a job with a personal access token", { ...pat, job_id: "j" }, undefined, misplaced],
    ["a tenant with an exchange", { ...onBehalf, tenant_id: tenant }, client, misplaced],
    ["a context with an exchange", { ...onBehalf, context_id: place }, client, misplaced],
    ["a tenant with a user's context", { ...context, tenant_id: tenant }, client, misplaced],
    ["a context with a user's context", { ...context, context_id: place }, client, misplaced],
    ["an audience with a user's context", { ...context, audience: "svc-notes" }, client, misplaced],
    ["a job with a user's context", { ...context, job_id: "j" }, client, misplaced],
    ["an audience with its own context", { ...credentials, ...asContext }, client, misplaced],
    [
      "a scope of another audience, though it has both",
      { ...credentials, scope: "gateway.use" },
      () => basic(wide),
      "400 invalid_scope SCOPE_NOT_GRANTED",
    ],
    [
      "a client id that is not the header's",
      { ...credentials, client_id: "other" },
      client,
      "400 invalid_request INVALID_FIELD",
    ],
    [
      "an assertion without its type",
      { ...credentials, client_assertion: "x" },
      undefined,
      "400 invalid_request INVALID_FIELD",
    ],
    [
      "a malformed assertion",
      {
        ...credentials,
        client_assertion: "x",
        client_assertion_type: assertionType,
      },
      undefined,
      "401 invalid_client CLIENT_INVALID",
    ],
  ])("%s", async (_, form, headers, expected) => {
    const answer = await world.token(form, headers?.() ?? {})
    expect(refused(answer)).toBe(expected)
    expect(answer.headers.get("cache-control")).toBe("no-store")
    expect(answer.headers.get("content-type")).toBe("application/json")
    expect(Object.keys(answer.body).sort()).toEqual(["error", "error_description", "reason", "trace_id"])
    expect(answer.body.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    // RFC 6749 section 5.2 requires the challenge with 401; RFC 9110 has none with 400.
    const challenge = answer.headers.get("www-authenticate")
    if (answer.status === 401) expect(challenge).toMatch(/^Basic realm=/)
    else expect(challenge).toBeNull()
  })

  test("an exchange step by step", async () => {
    const user = await world.signIn()
    const subject_token = user.tokens["svc-gateway"] ?? ""
    const rows: [Record<string, string | undefined>, string][] = [
      [{ subject_token, scope: undefined }, "400 invalid_request INVALID_FIELD"],
      [{ subject_token, job_id: undefined }, "400 invalid_request INVALID_FIELD"],
      [{ subject_token, job_id: "no spaces" }, "400 invalid_request INVALID_FIELD"],
      [{ subject_token, audience: undefined }, "400 invalid_request INVALID_FIELD"],
      [{ subject_token, scope: "notes.read notes.admin" }, "400 invalid_scope SCOPE_NOT_GRANTED"],
      [{ subject_token, audience: "auth" }, "400 invalid_target AUDIENCE_NOT_ALLOWED"],
      [{ subject_token: `${subject_token.slice(0, -8)}AAAAAAAA` }, "400 invalid_grant SIGNATURE_INVALID"],
      [{ subject_token: "not a token" }, "400 invalid_grant MALFORMED_CREDENTIAL"],
      [{ subject_token: user.tokens["svc-notes"] }, "400 invalid_grant AUDIENCE_MISMATCH"],
    ]
    for (const [change, expected] of rows) expect(refused(await world.exchange(change)), expected).toBe(expected)
    expect(refused(await world.exchange({ subject_token }, world.stranger))).toBe(
      "400 access_denied DELEGATION_NOT_ALLOWED",
    )
    const answer = await world.exchange({ subject_token })
    expect(answer).toMatchObject({
      status: 200,
      body: {
        token_type: "Bearer",
        expires_in: 300,
        scope: "notes.read",
        issued_token_type: accessTokenType,
        audience: "svc-notes",
      },
    })
    expect(claimsOf(answer)).toMatchObject({
      sub: user.principalId,
      act: {
        sub: world.gateway.account.principalId,
        principal_type: "service",
        client_id: world.gateway.account.clientId,
      },
      job_id: "job-1",
      osid: expect.stringMatching(/^ses_/),
      gty: "on_behalf_of",
    })
    expect(claimsOf(answer)).not.toHaveProperty("sid")
  })

  test("an exchange by a client with an assertion", async () => {
    const user = await world.signIn()
    const form = { ...onBehalf, subject_token: user.tokens["svc-gateway"] ?? "" }
    const answer = await world.token({ ...form, ...assertion(world.gateway) })
    expect(claimsOf(answer)).toMatchObject({ act: { sub: world.gateway.account.principalId } })
  })

  test("an exchange of a service's own token", async () => {
    const subject = await world.token(credentials, basic(world.gateway))
    await addPolicy(world.server, world.notes)
    const answer = await world.exchange({ subject_token: String(subject.body.access_token) }, world.notes)
    expect(refused(answer)).toBe("400 invalid_grant PRINCIPAL_KIND_NOT_ALLOWED")
  })

  test("a delegated token expires no later than the subject token", async () => {
    const user = await world.signIn()
    world.server.advance(500_000)
    const answer = await world.exchange({ subject_token: user.tokens["svc-gateway"] })
    expect(answer.body.expires_in).toBeGreaterThan(90)
    expect(answer.body.expires_in).toBeLessThanOrEqual(100)
  })
})

describe("introspection answers", () => {
  test("a client without the scope with 403", async () => {
    expect(refused(await world.introspect("x", world.gateway))).toBe("403 insufficient_scope MISSING_SCOPE")
  })
  test("an unauthenticated caller with 401", async () => {
    const answer = await postForm(`${world.server.url}/auth/token/introspect`, { token: "x" })
    expect(refused(answer)).toBe("401 invalid_client CLIENT_INVALID")
  })
  test("two credentials, or a malformed bearer token, with its own reason", async () => {
    const ask = (form: Record<string, string>, headers: Record<string, string>) =>
      postForm(`${world.server.url}/auth/token/introspect`, { token: "x", ...form }, headers)
    const two = await ask({ client_secret: "x" }, basic(world.notes))
    expect(refused(two)).toBe("400 invalid_request AMBIGUOUS_CREDENTIAL")
    const malformed = await ask({}, { authorization: "Bearer a b" })
    expect(refused(malformed)).toBe("401 invalid_token MALFORMED_CREDENTIAL")
  })
  test("a missing token with 400", async () => {
    expect(refused(await world.introspect(""))).toBe("400 invalid_request INVALID_FIELD")
  })
  test("an unknown token with `active: false` and nothing else", async () => {
    const user = await world.signIn()
    for (const token of [
      "x",
      user.refreshToken,
      unknownPat,
      user.tokens["svc-gateway"] ?? "",
      user.tokens.auth ?? "",
    ]) {
      expect(await world.introspect(token)).toMatchObject({ status: 200, body: { active: false } })
      expect((await world.introspect(token)).body).toEqual({ active: false })
    }
    expect((await world.introspect(user.tokens["svc-notes"] ?? "")).body).toMatchObject({
      active: true,
      gty: "session",
    })
  })
  test("a service with its own access token for this audience", async () => {
    const asking = await addMachine(world.server, {
      ownedAudiences: ["svc-asking"],
      allowedAudiences: ["auth", "svc-asking"],
      scopes: ["auth.introspect"],
      defaultScopes: ["auth.introspect"],
    })
    const form = { grant_type: "client_credentials", audience: "auth" }
    const own = await world.token(form, basic(asking))
    const other = await world.token({ ...form, audience: "svc-asking" }, basic(asking))
    const ask = (token: unknown, headers: Record<string, string>) =>
      postForm(`${world.server.url}/auth/token/introspect`, { token: String(token) }, headers)
    const headers = { authorization: `Bearer ${own.body.access_token}` }
    expect((await ask(other.body.access_token, headers)).body).toMatchObject({
      active: true,
      client_id: asking.account.clientId,
    })
    expect((await ask(own.body.access_token, headers)).body).toEqual({ active: false })
    const elsewhere = await ask("x", { authorization: `Bearer ${other.body.access_token}` })
    expect(refused(elsewhere)).toBe("401 invalid_token AUDIENCE_MISMATCH")
    expect(elsewhere.headers.get("www-authenticate")).toMatch(/^Bearer /)
  })
})

test("answers about tokens are not cacheable, and the metadata is for five minutes", async () => {
  const { tokens, ...user } = await world.signIn()
  const { token: secret } = await addPat(world.server, user)
  const own = await world.token(credentials, basic(world.gateway))
  const token = String(own.body.access_token)
  const answers = {
    token: own,
    "its own context": await world.token({ grant_type: "client_credentials", ...asContext }, basic(world.gateway)),
    "somebody's context": await world.token(
      { ...context, subject_token: tokens["svc-gateway"] ?? "" },
      basic(world.gateway),
    ),
    exchange: await world.exchange({ subject_token: tokens["svc-gateway"] }),
    "personal access token": await world.token({ grant_type: "pat", pat: secret }),
    introspection: await world.introspect(token),
    "introspection of no token": await world.introspect("x"),
    revocation: await world.revoke({ token }, basic(world.gateway)),
  }
  for (const [name, { status, headers }] of Object.entries(answers)) {
    expect([name, status, headers.get("cache-control")]).toEqual([name, 200, "no-store"])
  }
  const exchanged = await fetch(`${world.server.url}/signet.auth.v1.PatService/ExchangePat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ pat: secret }),
  })
  expect([exchanged.status, exchanged.headers.get("cache-control")]).toEqual([200, "no-store"])
  const metadata = await fetch(`${world.server.url}/.well-known/oauth-authorization-server`)
  expect([metadata.status, metadata.headers.get("cache-control")]).toEqual([200, "public, max-age=300"])
})

describe("revocation answers", () => {
  test.each(["x", "", unknownPat, "sgrt_x", "a.b.c"])(
    "%j, which is unknown, with 200 unless it is empty",
    async (token) => {
      const answer = await world.revoke({ token })
      expect(answer.status).toBe(token === "" ? 400 : 200)
    },
  )
  test("a caller with two credentials, or with a token for another audience, with its own reason", async () => {
    const { account, secret } = world.gateway
    const twice = { client_id: account.clientId, client_secret: secret }
    const token = String((await world.token(credentials, basic(world.gateway))).body.access_token)
    expect(refused(await world.revoke({ token, ...twice }, basic(world.gateway)))).toBe(
      "400 invalid_request AMBIGUOUS_CREDENTIAL",
    )
    const by = async (value: string) => refused(await world.revoke({ token }, { authorization: `Bearer ${value}` }))
    expect(await by("x.y.z")).toBe("401 invalid_token MALFORMED_CREDENTIAL")
    expect(await by(unknownPat)).toBe("401 invalid_token PAT_NOT_BEARER")
    // The service's own token, but for another audience.
    expect(await by(token)).toBe("401 invalid_token AUDIENCE_MISMATCH")
    expect((await world.introspect(token)).body.active).toBe(true)
    const nowMs = world.server.deps.clock.nowMs()
    const wrong = assertion(world.gateway, { key: world.notes.privateKey, nowMs })
    expect(refused(await world.revoke({ token, ...wrong }))).toBe("401 invalid_client CLIENT_INVALID")
    expect((await world.revoke({ token, ...assertion(world.gateway, { nowMs }) })).status).toBe(200)
    expect((await world.introspect(token)).body).toEqual({ active: false })
  })
  test("an unknown refresh token with 200", async () => {
    const token = buildOpaque("sgrt_", world.server.deps.random)
    expect((await world.revoke({ token })).status).toBe(200)
  })
  test("a wrong client with 401, whatever the token", async () => {
    const answer = await world.revoke({ token: "x" }, basic({ ...world.gateway, secret: world.notes.secret }))
    expect(refused(answer)).toBe("401 invalid_client CLIENT_INVALID")
  })
  test("an access token only to its owners", async () => {
    const token = String((await world.token(credentials, basic(world.gateway))).body.access_token)
    expect(refused(await world.revoke({ token }))).toBe("401 invalid_client CLIENT_INVALID")
    expect(refused(await world.revoke({ token }, basic(world.stranger)))).toBe(
      "400 unauthorized_client CLIENT_NOT_ALLOWED",
    )
    const user = await world.signIn()
    expect(refused(await world.revoke({ token }, { authorization: `Bearer ${user.tokens.auth}` }))).toBe(
      "400 unauthorized_client CLIENT_NOT_ALLOWED",
    )
    expect((await world.introspect(token)).body.active).toBe(true)
    expect((await world.revoke({ token }, basic(world.gateway))).status).toBe(200)
    expect((await world.introspect(token)).body).toEqual({ active: false })
    expect((await world.revoke({ token }, basic(world.gateway))).status).toBe(200)
  })
  test("an access token for as long as a slow clock accepts it", async () => {
    const answer = await world.token(credentials, basic(world.gateway))
    const { jti, exp } = claimsOf(answer)
    await world.revoke({ token: String(answer.body.access_token) }, basic(world.gateway))
    const revocation = world.server.store.db
      .selectFrom("revocation")
      .select("expires_at")
      .where("key", "=", String(jti))
    expect((await revocation.executeTakeFirstOrThrow()).expires_at).toEqual(new Date((Number(exp) + 30) * 1_000))
  })
  test("a refresh token and a personal access token to their holder", async () => {
    const user = await world.signIn()
    const { token } = await addPat(world.server, user)
    const exchanged = String((await world.token({ grant_type: "pat", pat: token })).body.access_token)
    expect((await world.introspect(exchanged)).body.active).toBe(true)
    await world.revoke({ token })
    expect((await world.introspect(exchanged)).body).toEqual({ active: false })
    expect(refused(await world.token({ grant_type: "pat", pat: token }))).toBe("400 invalid_grant PAT_INVALID")
    const mine = user.tokens["svc-notes"] ?? ""
    expect((await world.introspect(mine)).body.active).toBe(true)
    await world.revoke({ token: user.refreshToken, token_type_hint: "access_token" })
    expect((await world.introspect(mine)).body).toEqual({ active: false })
  })
})

describe.each(["gRPC", "Connect JSON over HTTP/1.1", "gRPC-Web"])("over %s", (protocol) => {
  const tokens = () => clientsOver(protocols[protocol]?.(world.server.url) ?? expect.unreachable()).tokens
  const why = async (call: Promise<unknown>) => {
    const error = ConnectError.from(
      await call.then(
        () => expect.unreachable(),
        (thrown: unknown) => thrown,
      ),
    )
    const [info] = error.findDetails(ErrorInfoSchema)
    return [Code[error.code], info?.reason, info?.metadata.error]
  }

  test("the same handler answers with the same reasons, and with the error codes of RFC 6749", async () => {
    const { account, secret } = world.gateway
    const asked = { grantType: "client_credentials", clientId: account.clientId, audience: "svc-notes" }
    const answer = await tokens().token({ ...asked, clientSecret: secret })
    expect(answer).toMatchObject({
      tokenType: "Bearer",
      expiresIn: 600,
      scope: "notes.read",
      issuedTokenType: accessTokenType,
    })
    expect(await why(tokens().token(asked))).toEqual(["Unauthenticated", "CLIENT_INVALID", "invalid_client"])
    expect(await why(tokens().token({ ...asked, clientSecret: secret, audience: "svc-mail" }))).toEqual([
      "InvalidArgument",
      "AUDIENCE_NOT_ALLOWED",
      "invalid_target",
    ])
    expect(await why(tokens().token({ grantType: "pat", pat: unknownPat }))).toEqual([
      "Unauthenticated",
      "PAT_INVALID",
      "invalid_grant",
    ])
    expect(await why(tokens().token({ grantType: "pat", pat: "" }))).toEqual([
      "InvalidArgument",
      "INVALID_FIELD",
      undefined,
    ])
    const { clientId } = world.notes.account
    const asking = { clientId, clientSecret: world.notes.secret }
    expect(await tokens().introspect({ ...asking, token: answer.accessToken })).toMatchObject({
      active: true,
      // The membership that the account was created with, and the app's scopes.
      permVer: expect.any(Number),
      permVerCurrent: expect.any(Number),
    })
    await tokens().revoke({ token: answer.accessToken, clientId: account.clientId, clientSecret: secret })
    expect(await tokens().introspect({ ...asking, token: answer.accessToken })).toMatchObject({
      active: false,
      sub: "",
    })
    expect((await tokens().getAuthorizationServerMetadata({})).tokenEndpoint).toBe("https://auth.example/auth/token")
  })
})
