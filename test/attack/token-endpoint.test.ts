// What an attacker tries at the token endpoint. Each test is an attack that worked somewhere.
import { createHash, type KeyObject, sign } from "node:crypto"
import { newId, parseId } from "@signet/kernel/ids"
import type { Store, Tx } from "@signet/kernel/ports"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createStore } from "../../server/store/postgres/store.ts"
import { bearer, refusal } from "../support/clients.ts"
import { addMachine, addPat, addPolicy, basic, type Machine } from "../support/machines.ts"
import { describeOnPostgres, openTestStore } from "../support/postgres.ts"
import { startTestServer } from "../support/server.ts"
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
  world = await startTokenWorld({ store: "pglite" })
})
afterAll(() => world?.server.close())

const credentials = { grant_type: "client_credentials", audience: "svc-notes" }

/** A client's assertion (RFC 7523), changed as asked. */
function assertion(
  { account, privateKey, kid }: Pick<Machine, "account" | "privateKey" | "kid">,
  change: { claims?: Record<string, unknown>; header?: Record<string, unknown>; key?: KeyObject; nowMs?: number } = {},
): Record<string, string> {
  const iat = Math.floor((change.nowMs ?? Date.now()) / 1_000)
  const claims = {
    iss: account.clientId,
    sub: account.clientId,
    aud: "https://auth.example",
    jti: `jti-${Math.random()}`,
    iat,
    exp: iat + 60,
    ...change.claims,
  }
  const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString("base64url")
  const signed = `${encode({ alg: "ES256", kid, ...change.header })}.${encode(claims)}`
  const signature = sign("sha256", Buffer.from(signed), { key: change.key ?? privateKey, dsaEncoding: "ieee-p1363" })
  return {
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: `${signed}.${signature.toString("base64url")}`,
  }
}

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
  test("a service cannot exchange a token that was addressed to another", async () => {
    const user = await world.signIn()
    // The gateway came by the notes service's token, and the stranger by the gateway's.
    expect(refused(await world.exchange({ subject_token: user.tokens["svc-notes"] }))).toBe(
      "400 invalid_grant AUDIENCE_MISMATCH",
    )
    await addPolicy(world.server, world.stranger)
    expect(refused(await world.exchange({ subject_token: user.tokens["svc-gateway"] }, world.stranger))).toBe(
      "400 invalid_grant AUDIENCE_MISMATCH",
    )
    expect((await world.exchange({ subject_token: user.tokens["svc-stranger"] }, world.stranger)).status).toBe(200)
  })

  test("a denied exchange is written down, with who and why", async () => {
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

  test("introspection tells a service nothing of another's tokens (CVE-2026-37979)", async () => {
    const user = await world.signIn()
    const asking = await addMachine(world.server, { ownedAudiences: [], scopes: ["auth.introspect"] })
    expect((await world.introspect(user.tokens["svc-notes"] ?? "", asking)).body).toEqual({ active: false })
  })
})

describe("across apps and tenants", () => {
  test("no service acts for another app's user", async () => {
    const other = { ...world.server.app, id: newId("app", 9, new Uint8Array(10).fill(9)) }
    await world.server.deps.store.transaction((tx) => tx.apps.putApp(other))
    const abroad = await addMachine(world.server, { appId: other.id, ownedAudiences: ["svc-abroad"] })
    await addPolicy(world.server, abroad)
    const user = await world.signIn()
    const at = world.server.deps.clock.nowMs()
    // A token of this app for the other app's audience, as a misconfigured app would hand out.
    const subject_token = world.server.keys.sign("at+jwt", {
      ...JSON.parse(Buffer.from((user.tokens["svc-gateway"] ?? "").split(".")[1] ?? "", "base64url").toString()),
      aud: "svc-abroad",
      jti: newId("jti", at, new Uint8Array(10)),
    })
    expect(refused(await world.exchange({ subject_token }, abroad))).toBe("400 invalid_grant APP_MISMATCH")
  })

  test("no service of one tenant acts for a user of none", async () => {
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

describe("actor games", () => {
  test("a delegated token is not delegated again", async () => {
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

  test("an act claim that nobody signed is no act claim", async () => {
    const user = await world.signIn()
    const [header, payload = "", signature] = (user.tokens["svc-gateway"] ?? "").split(".")
    const claims = { ...JSON.parse(Buffer.from(payload, "base64url").toString()), scp: ["notes.admin"] }
    const forged = `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`
    expect(refused(await world.exchange({ subject_token: forged }))).toBe("400 invalid_grant SIGNATURE_INVALID")
  })

  test("an actor token is the caller's own, for this service, and of a service", async () => {
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

  test("a delegated token opens no door that does not name delegation", async () => {
    const user = await world.signIn()
    const answer = await world.exchange({ subject_token: user.tokens["svc-gateway"] })
    const forAuth = world.server.keys.sign("at+jwt", { ...claimsOf(answer), aud: "auth" })
    for (const call of [
      world.clients.auth.me({}, bearer(forAuth)),
      world.clients.delegations.listDelegations({}, bearer(forAuth)),
    ]) {
      expect(await refusal(call)).toBe("PermissionDenied ACTOR_NOT_ALLOWED")
    }
  })

  test("the user's logout ends delegated tokens, and stops new ones", async () => {
    const user = await world.signIn()
    const subject_token = user.tokens["svc-gateway"]
    const token = String((await world.exchange({ subject_token })).body.access_token)
    expect((await world.introspect(token)).body).toMatchObject({ active: true, gty: "on_behalf_of" })
    await world.clients.auth.logout({ refreshToken: user.refreshToken })
    expect((await world.introspect(token)).body).toEqual({ active: false })
    expect(refused(await world.exchange({ subject_token }))).toBe("400 invalid_grant SESSION_REVOKED")
  })

  test("a disabled actor's delegated tokens end with it", async () => {
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
    await world.server.deps.store.transaction((tx) => tx.serviceAccounts.setStatus(actor.account.id, "DISABLED"))
    expect((await world.introspect(token)).body).toEqual({ active: false })
    expect(refused(await world.exchange({ subject_token }, actor))).toBe("401 invalid_client CLIENT_INVALID")
  })
})

describe("laundering a personal access token", () => {
  test("its tokens are not handed on to act for the user", async () => {
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

  test("its tokens give nobody leave to act, and its scopes are those that the user still holds", async () => {
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

  test("it names one audience, of those that it allows", async () => {
    const user = await world.signIn()
    const { token } = await addPat(world.server, user, { allowedAudiences: ["svc-notes", "svc-gateway"] })
    expect(refused(await world.token({ grant_type: "pat", pat: token }))).toBe("400 invalid_request INVALID_FIELD")
    expect(refused(await world.token({ grant_type: "pat", pat: token, audience: "auth" }))).toBe(
      "400 invalid_target AUDIENCE_NOT_ALLOWED",
    )
  })
})

describe("parameter pollution", () => {
  const client = () => basic(world.gateway)
  test.each([
    "grant_type=client_credentials&audience=svc-notes&audience=svc-mail",
    "grant_type=client_credentials&grant_type=pat&audience=svc-notes",
    "grant_type=client_credentials&audience=svc-notes&scope=notes.read&scope=notes.write",
    "grant_type=client_credentials&audience=svc-notes&x=1&x=1",
    "grant_type=client_credentials&audience=svc-notes&%61udience=svc-mail",
    "grant_type=client_credentials&audience=svc-notes&audience=",
  ])("%s: a parameter that comes twice is refused, known or not", async (form) => {
    expect(refused(await world.token(form, client()))).toBe("400 invalid_request DUPLICATE_FIELD")
  })

  test("an unknown parameter is ignored", async () => {
    expect((await world.token({ ...credentials, resource: "https://x", "audience[]": "y" }, client())).status).toBe(200)
  })

  test("nothing is read from the address, and nothing of it is repeated", async () => {
    const secret = world.gateway.secret
    const url = `${world.server.url}/auth/token?client_secret=${secret}`
    const response = await fetch(url, {
      method: "POST",
      body: new URLSearchParams({ ...credentials, client_id: world.gateway.account.clientId }),
    })
    const text = await response.text()
    expect([response.status, JSON.parse(text).error]).toEqual([400, "invalid_request"])
    expect(text).not.toContain("client_secret")
    expect((await fetch(url)).status).toBe(404)
  })

  test("a client proves itself in one way", async () => {
    const { account, secret } = world.gateway
    const post = { client_id: account.clientId, client_secret: secret }
    const both: [Record<string, string>, Record<string, string>][] = [
      [{ ...credentials, ...post }, client()],
      [{ ...credentials, ...post, ...assertion(world.gateway) }, {}],
      [{ ...credentials, ...assertion(world.gateway) }, client()],
      [{ ...credentials, ...post }, { authorization: "Bearer x" }],
    ]
    for (const [form, headers] of both) {
      expect(refused(await world.token(form, headers))).toBe("400 invalid_request AMBIGUOUS_CREDENTIAL")
    }
  })
})

describe("content types", () => {
  const form = new URLSearchParams({ grant_type: "client_credentials", audience: "svc-notes" }).toString()
  const post = async (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) => {
    const response = await fetch(`${world.server.url}/auth/token`, {
      method: "POST",
      body,
      headers: { ...basic(world.gateway), ...headers },
    })
    return `${response.status} ${(await response.json()).reason ?? "granted"}`
  }
  test.each<[string, string, string]>([
    ["application/x-www-form-urlencoded", form, "200 granted"],
    ["application/x-www-form-urlencoded; charset=UTF-8", form, "200 granted"],
    ["application/x-www-form-urlencoded; charset=utf-16", form, "400 UNSUPPORTED_MEDIA_TYPE"],
    // No media type at all, so no route is reached.
    ["application/x-www-form-urlencoded, application/json", form, "415 UNSUPPORTED_MEDIA_TYPE"],
    [
      "application/json",
      JSON.stringify({ grant_type: "client_credentials", audience: "svc-notes" }),
      "400 UNSUPPORTED_MEDIA_TYPE",
    ],
    ["text/plain", form, "400 UNSUPPORTED_MEDIA_TYPE"],
    ["multipart/form-data; boundary=x", form, "400 UNSUPPORTED_MEDIA_TYPE"],
  ])("%s", async (type, body, expected) => {
    expect(await post(body, { "content-type": type })).toBe(expected)
  })

  test("nothing compressed, nothing that is not UTF-8, nothing large", async () => {
    const type = { "content-type": "application/x-www-form-urlencoded" }
    expect(await post(form, { ...type, "content-encoding": "gzip" })).toBe("400 UNSUPPORTED_MEDIA_TYPE")
    expect(await post(Uint8Array.of(0x61, 0x3d, 0xff), type)).toBe("400 MALFORMED_REQUEST")
    expect(await post("a=%ff", type)).toBe("400 MALFORMED_REQUEST")
    expect(await post("a=%0", type)).toBe("400 MALFORMED_REQUEST")
    expect(await post(`a=${"x".repeat(70_000)}`, type)).toBe("400 BODY_TOO_LARGE")
    expect(await post(`${form}&scope=%00`, type)).toBe("400 INVALID_FIELD")
  })

  test("a form is taken by no other method", async () => {
    const response = await fetch(`${world.server.url}/auth/session/refresh`, {
      method: "POST",
      body: new URLSearchParams({ refreshToken: "x" }),
    })
    expect(response.status).toBe(415)
  })
})

describe("a client's assertion", () => {
  const use = (form: Record<string, string>) => world.token({ ...credentials, ...form })
  test("is taken once", async () => {
    const form = assertion(world.gateway)
    expect((await use(form)).status).toBe(200)
    expect(refused(await use(form))).toBe("401 invalid_client CLIENT_INVALID")
  })

  test("is used up by a call that is refused for something else", async () => {
    const form = assertion(world.gateway)
    expect(refused(await use({ ...form, audience: "svc-mail" }))).toBe("400 invalid_target AUDIENCE_NOT_ALLOWED")
    expect(refused(await use(form))).toBe("401 invalid_client CLIENT_INVALID")
  })

  const iat = Math.floor(Date.now() / 1_000)
  test.each<[string, Parameters<typeof assertion>[1] | (() => Parameters<typeof assertion>[1])]>([
    ["for another server", { claims: { aud: "https://other.example" } }],
    ["for two servers", { claims: { aud: ["https://auth.example", "https://other.example"] } }],
    ["for nobody", { claims: { aud: [] } }],
    ["that lives too long", { claims: { iat, exp: iat + 61 } }],
    ["without an end", { claims: { exp: undefined } }],
    ["without a beginning", { claims: { iat: undefined } }],
    ["that has expired", { claims: { iat: iat - 120, exp: iat - 60 } }],
    ["of tomorrow", { claims: { iat: iat + 86_400, exp: iat + 86_460 } }],
    ["without an id", { claims: { jti: undefined } }],
    ["of somebody else", { claims: { sub: "other" } }],
    [
      "in the name of another client",
      () => ({ claims: { iss: world.stranger.account.clientId, sub: world.stranger.account.clientId } }),
    ],
    ["by another key", () => ({ key: world.stranger.privateKey })],
    ["that names another key", () => ({ header: { kid: world.stranger.kid } })],
    ["with alg none", { header: { alg: "none" } }],
    ["with a key of its own", { header: { jwk: { kty: "EC" } } }],
    ["with a critical extension", { header: { crit: ["b64"], b64: false } }],
  ])("%s is refused", async (_, change) => {
    const form = assertion(world.gateway, typeof change === "function" ? change() : change)
    expect(refused(await use(form))).toBe("401 invalid_client CLIENT_INVALID")
  })

  test("is not an access token, and an access token is no assertion", async () => {
    const token = String((await world.token(credentials, basic(world.gateway))).body.access_token)
    expect(refused(await use({ ...assertion(world.gateway), client_assertion: token }))).toBe(
      "401 invalid_client CLIENT_INVALID",
    )
    const { client_assertion = "" } = assertion(world.gateway)
    expect((await world.introspect(client_assertion)).body).toEqual({ active: false })
  })
})

describeOnPostgres("a client's assertion at two servers of one database", () => {
  test("is taken once, also at the same moment", async () => {
    const store = await openTestStore("postgres", { maxConnections: 20 })
    const [first, second] = [await startTestServer({ store }), await startTestServer({ store })]
    try {
      const machine = await addMachine(first)
      for (let round = 0; round < 5; round++) {
        const body = new URLSearchParams({ ...credentials, ...assertion(machine) })
        const statuses = await Promise.all(
          [first, second, first, second].map(
            async ({ url }) => (await fetch(`${url}/auth/token`, { method: "POST", body })).status,
          ),
        )
        expect(statuses.sort()).toEqual([200, 401, 401, 401])
      }
    } finally {
      await first.close()
      await second.close()
      await store.close()
    }
  })
})

describe("telling clients apart", () => {
  test("unknown, unproven and disabled clients: one body, and the same statements", async () => {
    const store = await openTestStore("pglite")
    const calls: string[] = []
    let statements = 0
    // Counts every statement that reaches the database, whoever sends it.
    const counted = store.db.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        statements++
        return result
      },
    })
    const server = await startTestServer({ store: { ...store, store: recorded(createStore(counted), calls) } })
    try {
      const machine = await addMachine(server)
      const disabled = await addMachine(server)
      const bare = await addMachine(server, { authMethods: ["client_secret_basic"] })
      await server.deps.store.transaction((tx) => tx.serviceAccounts.setStatus(disabled.account.id, "DISABLED"))
      const suspended = await addMachine(server)
      await server.deps.store.transaction(async (tx) => {
        const id = parseId("prn", suspended.account.principalId)
        if (id) await tx.principals.end(id, "SUSPENDED", Date.now())
      })
      const unknown = { ...machine, account: { ...machine.account, clientId: newId("sac", 5, new Uint8Array(10)) } }
      const ask = async (form: Record<string, string>, headers: Record<string, string>) => {
        calls.length = 0
        statements = 0
        const body = new URLSearchParams({ ...credentials, ...form })
        const response = await fetch(`${server.url}/auth/token`, { method: "POST", body, headers })
        const { trace_id, ...told } = await response.json()
        return {
          status: response.status,
          told,
          statements,
          calls: [...calls],
          challenge: response.headers.get("www-authenticate"),
        }
      }
      const post = ({ account, secret }: Machine) => ({ client_id: account.clientId, client_secret: secret })
      const bySecret = [
        await ask({}, basic(unknown)),
        await ask({}, basic({ ...machine, secret: disabled.secret })),
        await ask({}, basic(disabled)),
        await ask({}, basic(suspended)),
        await ask(post(bare), {}),
      ]
      const byKey = [
        await ask(assertion(unknown), {}),
        await ask(assertion(machine, { key: disabled.privateKey }), {}),
        await ask(assertion(disabled), {}),
        await ask(assertion(machine, { header: { kid: "nobody" } }), {}),
        await ask(assertion(bare), {}),
      ]
      for (const answers of [bySecret, byKey]) {
        expect(answers[0]).toMatchObject({ status: 401, told: { error: "invalid_client", reason: "CLIENT_INVALID" } })
        expect(answers[0]?.statements).toBeGreaterThan(3)
        for (const answer of answers) expect(answer).toEqual(answers[0])
      }
      // The counter sees what it should: a client that is let in writes.
      expect((await ask({}, basic(machine))).calls).toContain("audit.append")
    } finally {
      await server.close()
      await store.close()
    }
  })
})

/** The store, with the name of every port that is called. */
function recorded(store: Store, calls: string[]): Store {
  const recordedTx = (tx: Tx): Tx => {
    const ports = Object.entries(tx).map(([name, port]) => [
      name,
      Object.fromEntries(
        Object.entries(port).map(([verb, call]) => [
          verb,
          (...values: unknown[]) => {
            calls.push(`${name}.${verb}`)
            return (call as (...values: unknown[]) => unknown)(...values)
          },
        ]),
      ),
    ])
    return Object.fromEntries(ports) as Tx
  }
  return { ...store, transaction: (work) => store.transaction((tx) => work(recordedTx(tx))) }
}

test("no secret and no token is in the audit", async () => {
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
