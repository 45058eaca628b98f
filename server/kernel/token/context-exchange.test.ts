import { describe, expect, test } from "vitest"
import { contextOf } from "../authz/context.ts"
import { newId } from "../ids.ts"
import { app, principal, session } from "../testing/records.ts"
import type { AccessTokenClaims } from "./claims.ts"
import { buildContextClaims } from "./context-claims.ts"
import { type ContextQuestion, decideContext } from "./context-exchange.ts"

const random = (last: number) => new Uint8Array(10).fill(last)
const now = 1_000_000
const service = newId("prn", 1, random(1))
const tenant = newId("ten", 1, random(2))
const claims: AccessTokenClaims = {
  iss: "https://auth.example",
  aud: "svc-web",
  sub: principal.id,
  jti: "jti_1",
  sid: session.id,
  principal_type: "user",
  identity_id: session.identityId,
  app_id: app.id,
  scp: ["notes.read", "notes.write"],
  perm_ver: 0,
  amr: ["IDP_A"],
  iat: now,
  nbf: now,
  exp: now + 600,
  client_id: "web",
  gty: "session",
}
const { sid: _, ...withoutSession } = claims
const act = { sub: service, principal_type: "service", client_id: "svc-jobs" } as const
const delegated = { ...withoutSession, gty: "on_behalf_of", osid: session.id, act, job_id: "job-1" } as const
const account = { appId: app.id, tenantId: null, ownedAudiences: ["svc-web"] }
const question: ContextQuestion = { account, subject: contextOf(claims), inactive: undefined, scopes: [] }

describe("a service gets a context token", () => {
  test.each<[string, Partial<ContextQuestion>, readonly string[]]>([
    ["with all scopes of the token", {}, ["notes.read", "notes.write"]],
    ["with what it asks for", { scopes: ["notes.read"] }, ["notes.read"]],
    ["of a call that was made on behalf of a user", { subject: contextOf(delegated) }, ["notes.read", "notes.write"]],
  ])("%s", (_, change, scopes) => {
    expect(decideContext({ ...question, ...change })).toMatchObject({ refuse: false, scopes })
  })
})

describe("a service gets no context token", () => {
  test.each<[string, Partial<ContextQuestion>, string]>([
    ["for a rejected token", { subject: "TOKEN_EXPIRED" }, "TOKEN_EXPIRED"],
    [
      "of a token that was not addressed to it",
      { account: { ...account, ownedAudiences: ["svc-x"] } },
      "AUDIENCE_MISMATCH",
    ],
    ["in another app", { account: { ...account, appId: newId("app", 1, random(9)) } }, "APP_MISMATCH"],
    ["in another tenant than its own", { account: { ...account, tenantId: tenant } }, "TENANT_MISMATCH"],
    [
      "of another service",
      {
        subject: contextOf({ ...withoutSession, principal_type: "service", gty: "client_credentials" }),
      },
      "PRINCIPAL_KIND_NOT_ALLOWED",
    ],
    [
      "of a personal access token, which has no session",
      { subject: contextOf({ ...withoutSession, gty: "pat" }) },
      "SUBJECT_TOKEN_INVALID",
    ],
    ["of whom is not active", { inactive: "SESSION_REVOKED" }, "SESSION_REVOKED"],
    ["with more than the token has", { scopes: ["notes.read", "mail.send"] }, "SCOPE_NOT_GRANTED"],
  ])("%s", (_, change, reason) => {
    expect(decideContext({ ...question, ...change })).toMatchObject({ refuse: true, reason })
  })
})

describe("the claims of a context token", () => {
  const of = {
    subject: claims,
    sender: service,
    tokenId: newId("jti", 1, random(3)),
    scopes: ["notes.read"],
    nowSeconds: now,
    endsAtSeconds: undefined,
  }

  test("have the sender as audience, and are otherwise the subject's", () => {
    const { jti, ...context } = buildContextClaims(of)
    const { jti: before, ...token } = claims
    expect(context).toEqual({ ...token, aud: service, scp: ["notes.read"], exp: now + 86_400 })
    expect(jti).not.toBe(before)
  })

  test("never have a scope that the subject lacks", () => {
    expect(buildContextClaims({ ...of, scopes: ["notes.read", "mail.send"] }).scp).toEqual(["notes.read"])
  })

  test("expire with the session, and sooner with an actor", () => {
    expect(buildContextClaims({ ...of, endsAtSeconds: now + 60 }).exp).toBe(now + 60)
    expect(buildContextClaims({ ...of, subject: delegated, endsAtSeconds: now + 86_400 }).exp).toBe(now + 900)
  })
})
