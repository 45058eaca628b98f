// A service gets a context token for the messages that it sends: for its caller, or for itself.
import { newId } from "@signet/kernel/ids"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { sweep } from "../../server/store/postgres/sweep.ts"
import { restartRevocationLog } from "../../server/store/postgres/token/revocation-log.ts"
import { bearer, refusal } from "../support/clients.ts"
import { addMachine, addOtherApp, addPat, basic, type Machine } from "../support/machines.ts"
import { signIn } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"
import {
  accessTokenType,
  claimsOf,
  refused,
  startTokenWorld,
  type TokenWorld,
  tokenExchange,
} from "../support/token-world.ts"

const contextTokenType = "urn:signet:params:oauth:token-type:context"
let world: TokenWorld
beforeAll(async () => {
  world = await startTokenWorld({ store: storyStore })
})
afterAll(() => world?.server.close())

const own = { grant_type: "client_credentials", requested_token_type: contextTokenType }
const exchanged = (token: string | undefined) => ({
  grant_type: tokenExchange,
  requested_token_type: contextTokenType,
  subject_token_type: accessTokenType,
  subject_token: token ?? "",
})
const introspected = (token: string) => world.introspect(token, undefined, contextTokenType)
const headerOf = (token: unknown) => JSON.parse(Buffer.from(String(token).split(".")[0] ?? "", "base64url").toString())

describe("a context", () => {
  test("is for the service's caller, for this service only, and for a day", async () => {
    const { principalId, tokens } = await world.signIn()
    const answer = await world.token(exchanged(tokens["svc-gateway"]), basic(world.gateway))
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      token_type: "N_A",
      issued_token_type: contextTokenType,
      expires_in: 86_400,
      scope: "gateway.use",
      audience: world.gateway.account.principalId,
    })
    expect(answer.body).not.toHaveProperty("refresh_token")
    expect(headerOf(answer.body.access_token)).toMatchObject({ alg: "ES256", typ: "ctx+jwt" })
    const claims = claimsOf(answer)
    expect(claims).toMatchObject({ sub: principalId, aud: world.gateway.account.principalId, scp: ["gateway.use"] })
    expect(claims.sid).toMatch(/^ses_/)
  })

  test("of the service itself needs no subject token", async () => {
    const answer = await world.token({ ...own, scope: "notes.read" }, basic(world.gateway))
    expect(answer.body).toMatchObject({ token_type: "N_A", scope: "notes.read" })
    const { account } = world.gateway
    expect(claimsOf(answer)).toMatchObject({
      sub: account.principalId,
      aud: account.principalId,
      gty: "client_credentials",
    })
  })

  test("can be introspected by the services of its app while it is valid", async () => {
    const { tokens } = await world.signIn()
    const { body } = await world.token(exchanged(tokens["svc-gateway"]), basic(world.gateway))
    const token = String(body.access_token)
    expect((await introspected(token)).body).toMatchObject({ active: true, token_type: "N_A" })
    // A service that introspects it as a bearer token gets `active: false`.
    expect((await world.introspect(token)).body).toEqual({ active: false })
    expect((await world.introspect(token, undefined, "access_token")).body).toEqual({ active: false })
    await world.clients.auth.logout({}, bearer(tokens.auth ?? ""))
    expect((await introspected(token)).body).toEqual({ active: false })
  })

  test("cannot be introspected by a service of another app or of another tenant", async () => {
    const [ours, theirs] = [1, 2].map((last) => newId("ten", 9, new Uint8Array(10).fill(last)))
    const scopes = ["auth.introspect"]
    const sender = await addMachine(world.server, { tenantId: ours ?? null })
    const asking = {
      here: await addMachine(world.server, { tenantId: ours ?? null, scopes }),
      elsewhere: await addMachine(world.server, { tenantId: theirs ?? null, scopes }),
      everywhere: await addMachine(world.server, { scopes }),
      abroad: await addMachine(world.server, { appId: (await addOtherApp(world.server)).id, scopes }),
    }
    const token = String((await world.token(own, basic(sender))).body.access_token)
    const isTold = async (by: Machine) => (await world.introspect(token, by, contextTokenType)).body.active
    expect(await isTold(asking.here)).toBe(true)
    expect(await isTold(asking.everywhere)).toBe(true)
    expect(await isTold(asking.elsewhere)).toBe(false)
    expect(await isTold(asking.abroad)).toBe(false)
    // A service bound to a tenant cannot introspect a context without a tenant.
    const ofNone = String((await world.token(own, basic(world.gateway))).body.access_token)
    expect((await world.introspect(ofNone, asking.here, contextTokenType)).body).toEqual({ active: false })
  })

  test("of a service ends with the secret that it was requested with, also hours later", async () => {
    const machine = await addMachine(world.server, { allowedAudiences: ["svc-notes"] })
    const { body } = await world.token(own, basic(machine))
    const token = String(body.access_token)
    expect((await introspected(token)).body).toMatchObject({ active: true })
    const scopes = ["auth.service_accounts.write"]
    const admin = await signIn(world.server, world.clients, `administrator ${Math.random()}`, { scopes })
    const secret = { serviceAccountId: machine.account.id, secretId: machine.secretRecord.id }
    await world.clients.services.revokeSecret(secret, bearer(admin.token))
    expect((await introspected(token)).body).toEqual({ active: false })
    world.server.advance(3 * 3_600_000)
    const { store } = world.server
    await sweep(store.db, world.server.deps.clock.nowMs())
    expect((await introspected(token)).body).toEqual({ active: false })
  })

  test.each(["the app was suspended, and resumed", "the issuer started anew"])(
    "stays refused for a day after %s",
    async (what) => {
      const { store, deps, app } = world.server
      const machine = await addMachine(world.server, { allowedAudiences: ["svc-notes"] })
      const { body } = await world.token(own, basic(machine))
      const token = String(body.access_token)
      expect((await introspected(token)).body).toMatchObject({ active: true })
      const place = { appId: app.id, tenantId: null, contextId: null }
      world.server.advance(2_000)
      const nowMs = deps.clock.nowMs()
      if (what === "the issuer started anew") await restartRevocationLog(store.db, nowMs)
      else {
        await deps.store.transaction((tx) => tx.endings.endByPlace(place, "suspended", nowMs))
        await deps.store.transaction((tx) => tx.endings.reopenPlace(place, nowMs + 1_000))
      }
      world.server.advance(3 * 3_600_000)
      await sweep(store.db, deps.clock.nowMs())
      expect((await introspected(token)).body).toEqual({ active: false })
    },
  )

  test("is revoked by the sending service only", async () => {
    const { tokens } = await world.signIn()
    const { body } = await world.token(exchanged(tokens["svc-gateway"]), basic(world.gateway))
    const token = String(body.access_token)
    expect((await world.revoke({ token }, basic(world.notes))).status).toBe(400)
    expect((await introspected(token)).body).toMatchObject({ active: true })
    expect((await world.revoke({ token }, basic(world.gateway))).status).toBe(200)
    expect((await introspected(token)).body).toEqual({ active: false })
  })

  test("of a service of one tenant is not issued for another tenant", async () => {
    const [tenantId, other] = [6, 7].map((last) => newId("ten", 9, new Uint8Array(10).fill(last)))
    if (!tenantId || !other) throw new Error("no tenants")
    const bound = await addMachine(world.server, { tenantId, allowedAudiences: ["svc-notes"] })
    expect(claimsOf(await world.token(own, basic(bound)))).toMatchObject({ tenant_id: tenantId })
    const answer = await world.token({ ...own, tenant_id: other }, basic(bound))
    expect(refused(answer)).toBe("400 access_denied TENANT_MISMATCH")
    const context_id = newId("ctx", 9, new Uint8Array(10).fill(7))
    const inside = await world.token({ ...own, context_id }, basic(bound))
    expect(refused(inside)).toBe("400 access_denied MEMBERSHIP_INACTIVE")
  })

  test("of a logged-out user is not issued", async () => {
    const { tokens } = await world.signIn()
    await world.clients.auth.logout({}, bearer(tokens.auth ?? ""))
    const answer = await world.token(exchanged(tokens["svc-gateway"]), basic(world.gateway))
    expect(refused(answer)).toBe("400 invalid_grant SESSION_REVOKED")
  })
})

describe("an attacker gets no context", () => {
  test("for a token of another audience, and the attempt is audited", async () => {
    const { principalId, identityId, tokens } = await world.signIn()
    for (const audience of ["svc-notes", "svc-stranger", "auth"]) {
      const answer = await world.token(exchanged(tokens[audience]), basic(world.gateway))
      expect(refused(answer)).toBe("400 invalid_grant AUDIENCE_MISMATCH")
    }
    const { db } = world.server.store
    const query = db.selectFrom("audit_event").selectAll().where("subject_principal_id", "=", principalId)
    const rows = await query.where("kind", "=", "token.exchanged").execute()
    expect(rows).toHaveLength(3)
    for (const row of rows) {
      expect(row).toMatchObject({
        outcome: "DENIED",
        reason: "AUDIENCE_MISMATCH",
        app_id: world.server.app.id,
        actor_principal_id: world.gateway.account.principalId,
        subject_identity_id: identityId,
        target_id: null,
      })
      expect(row.session_id).toMatch(/^ses_/)
    }
  })

  test("without authenticating as a service", async () => {
    const { tokens } = await world.signIn()
    expect(refused(await world.token(exchanged(tokens["svc-gateway"])))).toBe("401 invalid_client CLIENT_INVALID")
    expect(refused(await world.token(own))).toBe("401 invalid_client CLIENT_INVALID")
    const form = {
      ...exchanged(tokens["svc-gateway"]),
      actor_token: tokens.auth ?? "",
      actor_token_type: accessTokenType,
    }
    expect(refused(await world.token(form))).toBe("401 invalid_client CLIENT_INVALID")
  })

  test("with more scopes than the token", async () => {
    const { tokens } = await world.signIn()
    const form = { ...exchanged(tokens["svc-gateway"]), scope: "gateway.use notes.read" }
    expect(refused(await world.token(form, basic(world.gateway)))).toBe("400 invalid_scope SCOPE_NOT_GRANTED")
    const other = await world.token({ ...own, scope: "auth.introspect" }, basic(world.notes))
    expect(refused(other)).toBe("400 invalid_scope SCOPE_NOT_GRANTED")
  })

  test("for a token without a session", async () => {
    const { principalId, identityId } = await world.signIn()
    const change = { allowedAudiences: ["svc-gateway"], scopes: ["gateway.use"] }
    const pat = await addPat(world.server, { principalId, identityId }, change)
    const ofPat = await world.token({ grant_type: "pat", pat: pat.token })
    const answer = await world.token(exchanged(String(ofPat.body.access_token)), basic(world.gateway))
    expect(refused(answer)).toBe("400 invalid_grant SUBJECT_TOKEN_INVALID")
  })

  test("from a context token, nor an access token from one, nor one for an audience of its choice", async () => {
    const { tokens } = await world.signIn()
    const { body } = await world.token(exchanged(tokens["svc-gateway"]), basic(world.gateway))
    const context = String(body.access_token)
    const again = await world.token(exchanged(context), basic(world.gateway))
    expect(refused(again)).toBe("400 invalid_grant TYP_NOT_ALLOWED")
    const onBehalf = await world.exchange({ subject_token: context })
    expect(refused(onBehalf)).toBe("400 invalid_grant TYP_NOT_ALLOWED")
    const actor = { ...exchanged(tokens["svc-gateway"]), actor_token: context, actor_token_type: accessTokenType }
    expect(refused(await world.token(actor))).toBe("401 invalid_client CLIENT_INVALID")
    const named = { ...exchanged(tokens["svc-gateway"]), audience: "svc-notes" }
    expect(refused(await world.token(named, basic(world.gateway)))).toBe("400 invalid_request INVALID_FIELD")
  })
})

test("a context is no bearer token", async () => {
  const { tokens } = await world.signIn()
  const { body } = await world.token(exchanged(tokens["svc-gateway"]), basic(world.gateway))
  const ownAnswer = await world.token(own, basic(world.gateway))
  for (const token of [String(body.access_token), String(ownAnswer.body.access_token)]) {
    expect(await refusal(world.clients.auth.me({}, bearer(token)))).toBe("Unauthenticated TYP_NOT_ALLOWED")
    const introspected = await fetch(`${world.server.url}/auth/token/introspect`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ token }),
    })
    expect(introspected.status).toBe(401)
  }
})
