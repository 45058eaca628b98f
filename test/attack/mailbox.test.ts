// Attacks with the authority that a mailbox message carries.
import { createGuard } from "@signet/guard/guard"
import { createLocalKeySet } from "@signet/guard/key-set"
import { nodeTokenCrypto } from "@signet/guard/node/token-crypto"
import { createIssuer, ids } from "@signet/guard/testing/issuer"
import { active } from "@signet/guard/vectors/build"
import type { Requirement } from "@signet/kernel/authz/requirement"
import { newId } from "@signet/kernel/ids"
import { describe, expect, test } from "vitest"
import {
  actors,
  type MailboxWorld,
  mail,
  mailboxOf,
  nowSeconds,
  reasonOf,
  said,
  sealed,
  web,
} from "../support/mailboxes.ts"

const { access } = actors

const day = 86_400

describe("a context", () => {
  const with_ = (contextToken: string, world: MailboxWorld = {}) => said(web, { payload: { contextToken } }, world)

  test("that the sender itself has signed is refused", async () => {
    const claims = { ...access.claims(), aud: web.principalId }
    const stranger = createIssuer()
    const own = stranger.token(claims, { typ: "ctx+jwt", kid: "context-1" })
    expect(await with_(own)).toBe("SIGNATURE_INVALID")
    expect(await with_(actors.contextToken(web, {}, { alg: "none" }))).toBe("ALG_NOT_ALLOWED")
  })

  test("that is an access token is refused, also with the type of a context token", async () => {
    expect(await with_(access.token({ aud: web.principalId }))).toBe("TYP_NOT_ALLOWED")
    expect(await with_(access.token({ aud: web.principalId }, { typ: "ctx+jwt" }))).toBe("KEY_UNKNOWN")
  })

  test("that is a certificate is refused", async () => {
    expect(await with_(web.certificate())).toBe("TYP_NOT_ALLOWED")
  })

  test("is refused as a bearer token, also with the type of an access token", async () => {
    const keySet = createLocalKeySet(access, nodeTokenCrypto)
    const guard = createGuard({ ...access, keySet, crypto: nodeTokenCrypto })
    const aud = { aud: access.audience }
    expect(await guard.authenticate(`Bearer ${actors.contextToken(web, aud)}`)).toBe("TYP_NOT_ALLOWED")
    const renamed = actors.contextToken(web, aud, { typ: "at+jwt" })
    expect(await guard.authenticate(`Bearer ${renamed}`)).toBe("KEY_UNKNOWN")
  })

  test("that was issued to another sender, or is for a service, is refused", async () => {
    expect(await with_(actors.contextToken(mail))).toBe("AUDIENCE_MISMATCH")
    expect(await with_(actors.contextToken(web, { aud: "svc-notes" }))).toBe("AUDIENCE_MISMATCH")
  })

  test("that is valid for more than a day, or has expired, is refused", async () => {
    expect(await with_(actors.contextToken(web, { exp: nowSeconds() + 2 * day }))).toBe("TOKEN_EXPIRED")
    expect(await with_(actors.contextToken(web, { iat: 1, nbf: 1, exp: nowSeconds() - 31 }))).toBe("TOKEN_EXPIRED")
  })

  test("of a service that acts for the user is refused where delegation is not allowed", async () => {
    const act = { sub: ids.service, principal_type: "service", client_id: "svc-jobs" }
    const delegated = { gty: "on_behalf_of", sid: undefined, osid: ids.session, job_id: "job", act }
    const contextToken = actors.contextToken(web, delegated)
    expect(await with_(contextToken)).toBe("ACTOR_NOT_ALLOWED")
    const named = (actor: string): Requirement => ({ is: "delegated", actors: [actor] })
    expect(await with_(contextToken, { requirement: named("svc-mail") })).toBe("ACTOR_NOT_ALLOWED")
    const world = mailboxOf({ requirement: named("svc-jobs") })
    await world.receive(await actors.forge(web, { payload: { contextToken } }))
    expect(world.handled[0]?.auth).toMatchObject({
      principal: { id: ids.principal, kind: "USER" },
      actor: { id: ids.service, kind: "SERVICE" },
      method: "ACTOR_ENVELOPE",
    })
  })
})

describe("a message is refused if between sending and delivery", () => {
  const during = async (change: object) => {
    let facts: object = active
    const liveness = async () => ({ facts: Object.assign({}, active, facts), asOfMs: access.clock.nowMs() })
    const { receive, handled } = mailboxOf({ guarded: { liveness } })
    const envelope = await sealed()
    facts = change
    const reason = await reasonOf(receive(envelope))
    expect(handled).toEqual([])
    return reason
  }

  test("the user is suspended, or logs out, or loses the membership or some authority", async () => {
    expect(await during({ principal: "SUSPENDED" })).toBe("PRINCIPAL_INACTIVE")
    expect(await during({ session: { ...active.session, status: "REVOKED" } })).toBe("SESSION_REVOKED")
    expect(await during({ membership: "REMOVED" })).toBe("MEMBERSHIP_INACTIVE")
    expect(await during({ minimum: { principal: 2, policy: 0 } })).toBe("PERMISSIONS_STALE")
  })

  test("the user's state becomes unknown, unless introspection answers", async () => {
    const contextToken = actors.contextToken(web, { iat: nowSeconds() - 1_000, exp: nowSeconds() + 1_000 })
    // Without introspection, a context token is valid for as long as an access token.
    expect(await said(web, { payload: { contextToken } })).toBe("REVOCATION_STATE_STALE")
    const asked: string[] = []
    const introspect = async (_: unknown, token: string) => {
      asked.push(token)
      return { facts: active, asOfMs: access.clock.nowMs() }
    }
    expect(await said(web, { payload: { contextToken } }, { guarded: { introspect } })).toBe("taken")
    expect(asked).toEqual([contextToken])
    const gone = async () => ({ facts: { ...active, revoked: ["TOKEN"] as const }, asOfMs: access.clock.nowMs() })
    expect(await said(web, { payload: { contextToken } }, { guarded: { introspect: gone } })).toBe("TOKEN_REVOKED")
  })
})

describe("an internal mailbox", () => {
  const requirement: Requirement = {
    is: "scope",
    scope: "notes.read",
    freshness: { maxStalenessMs: 60_000, onStale: "ALLOW" },
  }

  test("is the only kind that may accept the authority at the time of sending", () => {
    expect(() => mailboxOf({ requirement })).toThrow("mailbox of internal messages")
    expect(() => mailboxOf({ requirement: { is: "allOf", of: [requirement] } })).toThrow("mailbox of internal messages")
    const { freshness, ...unsaid } = requirement
    expect(() => mailboxOf({ requirement: unsaid, guarded: { defaultFreshness: freshness } })).toThrow(
      "mailbox of internal messages",
    )
    const patient = { maxStalenessMs: 86_400_000, onStale: "DENY" } as const
    expect(() => mailboxOf({ requirement: { ...unsaid, freshness: patient } })).toThrow("mailbox of internal messages")
    const inside = { ...unsaid, freshness: { ...patient, maxStalenessMs: 60_000 } }
    expect(() => mailboxOf({ requirement: { is: "allOf", of: [inside], freshness } })).not.toThrow()
    expect(() => mailboxOf({ requirement, isSystem: true })).not.toThrow()
  })

  test("accepts only a service's own authority", async () => {
    const system = { requirement, isSystem: true }
    expect(await said(web, {}, system)).toBe("PRINCIPAL_KIND_NOT_ALLOWED")
    const own = { sub: web.principalId, principal_type: "service", gty: "client_credentials" }
    const contextToken = actors.contextToken(web, { ...own, sid: undefined, identity_id: undefined })
    expect(await said(web, { payload: { contextToken } }, system)).toBe("taken")
  })
})

test("path, body and token each name another tenant", async () => {
  const other = newId("ten", 2, new Uint8Array(10))
  const third = newId("ten", 3, new Uint8Array(10))
  const requirement: Requirement = {
    is: "allOf",
    of: [
      { is: "tenant", from: "PATH", field: "tenant_id" },
      { is: "tenant", from: "BODY", field: "note.tenant_id" },
      { is: "tenant", from: "TOKEN", field: "" },
    ],
  }
  const tenants = async (path: string, body: string) => {
    const message = new TextEncoder().encode(JSON.stringify({ tenant_id: path, note: { tenant_id: body } }))
    const read = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes))
    return said(web, { message }, { requirement, read })
  }
  expect(await tenants(ids.tenant, ids.tenant)).toBe("taken")
  for (const [path, body] of [
    [other, third],
    [ids.tenant, other],
    [other, ids.tenant],
  ] as const) {
    expect(await tenants(path, body)).toBe("TENANT_MISMATCH")
  }
  for (const from of ["HEADER", "GRAPH"] as const) {
    expect(() => mailboxOf({ requirement: { is: "tenant", from, field: "x" } })).toThrow(from)
  }
})
