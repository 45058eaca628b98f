import { contextOf } from "@signet/kernel/authz/context"
import type { Requirement } from "@signet/kernel/authz/requirement"
import { statementClaims } from "@signet/kernel/revocation/statement"
import { longestTokenMs } from "@signet/kernel/token/claims"
import { afterEach, describe, expect, test } from "vitest"
import { createGuard } from "../guard.ts"
import { createIntrospection } from "../introspection.ts"
import { createLocalKeySet } from "../key-set.ts"
import { nodeTokenCrypto } from "../node/token-crypto.ts"
import { followedIssuer, stopFollowing } from "../testing/followed-issuer.ts"
import { createIssuer, encode, ids } from "../testing/issuer.ts"

afterEach(stopFollowing)

const otherSession = ids.session.replace(/.$/, (c) => (c === "1" ? "2" : "1"))

const freshness = (maxStalenessMs: number, onStale: "DENY" | "INTROSPECT" | "ALLOW"): Requirement => ({
  is: "kinds",
  of: ["USER"],
  freshness: { maxStalenessMs, onStale },
})

test("a revoked token is rejected even if its verification is cached", async () => {
  const { feed, token, decide, revoke } = followedIssuer()
  const held = token()
  await feed.refresh()
  expect(await decide(held)).toBe("allow")
  revoke({})
  await feed.refresh()
  expect(await decide(held)).toBe("SESSION_REVOKED")
  expect(feed.seq).toBe(1)
})

test("while the feed makes no progress for two minutes, strict routes deny, others introspect and then deny", async () => {
  const { feed, token, decide, pass, setDown, setIntrospection, problems } = followedIssuer()
  const held = token()
  await feed.refresh()
  const strict = freshness(60_000, "DENY")
  const asking = freshness(60_000, "INTROSPECT")
  const lax = freshness(60_000, "ALLOW")
  setDown(true)
  setIntrospection("active")
  pass(60_000)
  for (const requirement of [strict, asking, lax]) expect(await decide(held, requirement)).toBe("allow")
  pass(60_000)
  await expect(feed.refresh()).rejects.toThrow("UNREACHABLE")
  expect(await decide(held, strict)).toBe("REVOCATION_STATE_STALE")
  expect(await decide(held, asking)).toBe("allow")
  setIntrospection("inactive")
  expect(await decide(held, asking)).toBe("TOKEN_REVOKED")
  setIntrospection("down")
  expect(await decide(held, asking)).toBe("REVOCATION_STATE_STALE")
  expect(await decide(held)).toBe("REVOCATION_STATE_STALE")
  expect(await decide(held, lax)).toBe("allow")
  setDown(false)
  await feed.refresh()
  for (const requirement of [strict, asking, lax]) expect(await decide(held, requirement)).toBe("allow")
  expect(problems).toEqual([])
})

test("a reader that was suspended for two minutes rejects earlier answers, and knows nothing until it has asked", async () => {
  const { feed, token, decide, revoke, pass, forge, sign, statement, setIntrospection } = followedIssuer()
  const [held, other] = [token(), token({ sid: otherSession })]
  await feed.refresh()
  const strict = freshness(60_000, "DENY")
  // An answer that was in transit when the reader was suspended.
  const before = sign(statement(0))
  revoke({})
  pass(120_000)
  for (const one of [held, other]) expect(await decide(one, strict)).toBe("REVOCATION_STATE_STALE")
  setIntrospection("active")
  expect(await decide(other)).toBe("allow")
  forge(() => before)
  await expect(feed.refresh()).rejects.toThrow("UNTIMELY")
  expect(await decide(other, strict)).toBe("REVOCATION_STATE_STALE")
  forge((jws) => jws)
  await feed.refresh()
  expect(await decide(held, strict)).toBe("SESSION_REVOKED")
  expect(await decide(other, strict)).toBe("allow")
})

test("an isolate that was suspended for two minutes asks the issuer before it decides", async () => {
  const { token, decide, revoke, pass, setDown } = followedIssuer({ askEveryMs: 2_000 })
  const [held, other] = [token(), token({ sid: otherSession })]
  expect(await decide(held)).toBe("allow")
  revoke({})
  pass(120_000)
  expect(await Promise.all([decide(held), decide(other, freshness(60_000, "DENY"))])).toEqual([
    "SESSION_REVOKED",
    "allow",
  ])
  setDown(true)
  pass(120_000)
  expect(await decide(other)).toBe("REVOCATION_STATE_STALE")
})

test("a log shorter than before is rejected, and known entries remain", async () => {
  const { feed, token, decide, pass, revoke, restore, setIntrospection } = followedIssuer()
  const [held, other] = [token(), token({ sid: otherSession })]
  revoke({ kind: "TOKEN", key: "jti_other" }, {})
  await feed.refresh()
  restore({ head: 1, entries: [] })
  setIntrospection("active")
  pass(61_000)
  await expect(feed.refresh()).rejects.toThrow("ROLLBACK")
  expect(await decide(held, freshness(60_000, "DENY"))).toBe("SESSION_REVOKED")
  expect(await decide(other, freshness(60_000, "DENY"))).toBe("REVOCATION_STATE_STALE")
  // Its operator started a new log: it is read from the beginning, and known entries remain.
  restore({ name: "log-b", head: 1, entries: [] })
  await feed.refresh()
  expect(feed.seq).toBe(1)
  expect(await decide(other, freshness(60_000, "DENY"))).toBe("allow")
  expect(await decide(held)).toBe("SESSION_REVOKED")
})

test("a new log's first statement is read whole, though it is below the position in the former log", async () => {
  const { feed, token, decide, revoke, restore, forge, sign, statement, asked } = followedIssuer()
  const other = token({ sid: otherSession })
  revoke({ kind: "TOKEN", key: "jti_1" }, { kind: "TOKEN", key: "jti_2" }, { kind: "TOKEN", key: "jti_3" })
  await feed.refresh()
  restore({ name: "log-b", head: 0, entries: [] })
  revoke({})
  // The answer to `after=3` that starts at 0 needs no second request.
  forge(() => sign(statement(0)))
  await feed.refresh()
  expect(asked).toHaveLength(2)
  expect(feed.seq).toBe(1)
  expect(await decide(token())).toBe("SESSION_REVOKED")
  expect(await decide(other)).toBe("allow")
})

test("a gap restarts the log from its beginning, where a lower head is still rejected", async () => {
  const { feed, token, decide, revoke, forge, sign, statement, asked, restore } = followedIssuer()
  revoke({ kind: "TOKEN", key: "jti_1" }, { kind: "TOKEN", key: "jti_2" })
  await feed.refresh()
  revoke({}, { kind: "TOKEN", key: "jti_3" })
  // An answer with a missing entry, as an intermediate cache might return.
  forge(() => {
    forge((jws) => jws)
    return sign(statement(3))
  })
  await feed.refresh()
  expect(asked.slice(1)).toEqual(["/auth/revocations?after=2&wait=0", "/auth/revocations/snapshot?after=0"])
  expect(await decide(token())).toBe("SESSION_REVOKED")

  revoke({ kind: "TOKEN", key: "jti_4" }, { kind: "TOKEN", key: "jti_5" })
  forge(() => {
    restore({ head: 3, entries: [] })
    forge((jws) => jws)
    return sign(statement(5, { from: 5, to: 6, head: 6, entries: [] }))
  })
  await expect(feed.refresh()).rejects.toThrow("ROLLBACK")
})

describe("a statement is rejected, and the feed keeps its position", () => {
  test.each<[string, string, (of: ReturnType<typeof followedIssuer>) => string]>([
    ["without a signature", "SIGNATURE_INVALID", ({ sign, statement }) => sign(statement(0)).replace(/[^.]*$/, "")],
    [
      "that was altered",
      "SIGNATURE_INVALID",
      ({ sign, statement }) => {
        const [header, payload, signature] = sign(statement(0)).split(".")
        const json = JSON.parse(Buffer.from(payload ?? "", "base64url").toString())
        return `${header}.${encode({ ...json, entries: [] })}.${signature}`
      },
    ],
    ["of another type", "TYP_NOT_ALLOWED", ({ sign, statement }) => sign(statement(0), { typ: "at+jwt" })],
    ["of a type of the same keys", "TYP_NOT_ALLOWED", ({ sign, statement }) => sign(statement(0), { typ: "perm+jwt" })],
    [
      "by a key of access tokens",
      "SIGNATURE_INVALID",
      ({ signParts, statement, header }) =>
        signParts(encode({ ...header, typ: "rev+jwt" }), encode({ ...statementClaims(statement(0)) })),
    ],
    ["by an unknown key", "KEY_UNKNOWN", ({ sign, statement }) => sign(statement(0), { kid: "another" })],
    ["without an algorithm", "ALG_NOT_ALLOWED", ({ sign, statement }) => sign(statement(0), { alg: "none" })],
    ["of another issuer", "ISSUER", ({ sign, statement }) => sign(statement(0, { issuer: "https://other.example" }))],
    [
      "that is kept and sent again",
      "UNTIMELY",
      ({ sign, statement, clock }) => sign(statement(0, { asOfMs: clock.nowMs() - 61_000 })),
    ],
    ["that is an access token", "TYP_NOT_ALLOWED", ({ token }) => token()],
    [
      "that is no statement",
      "MALFORMED_CREDENTIAL",
      ({ sign, statement }) => sign(statement(0), {}, { entries: undefined }),
    ],
    [
      "with an entry that cannot be understood",
      "MALFORMED_CREDENTIAL",
      ({ sign, statement }) => sign(statement(0), {}, { entries: [{ seq: 1, kind: "PLANET", key: "x", exp: 1e10 }] }),
    ],
    [
      "that is larger than any",
      "UNREACHABLE",
      ({ sign, statement }) => `${sign(statement(0))}${"A".repeat(1_999_990)}`,
    ],
  ])("%s", async (_, problem, forged) => {
    const all = followedIssuer()
    all.revoke({})
    all.forge(() => forged(all))
    await expect(all.feed.refresh()).rejects.toThrow(problem)
    expect([all.feed.asOfMs, all.feed.seq, all.feed.size]).toEqual([0, 0, 0])
  })
})

test("beyond its capacity the feed is stale, and no entry is dropped", async () => {
  const { feed, token, decide, revoke, pass } = followedIssuer({ capacity: 2 })
  const held = token()
  revoke({ kind: "TOKEN", key: "jti_1" }, { kind: "TOKEN", key: "jti_2" }, {})
  await expect(feed.refresh()).rejects.toThrow("FULL")
  expect(feed.asOfMs).toBe(0)
  pass(61_000)
  expect(await decide(held)).toBe("REVOCATION_STATE_STALE")
})

test("a log is read page by page, and is current once its end is read", async () => {
  const { feed, revoke, forge, sign, statement, token, decide, asked } = followedIssuer()
  revoke({ kind: "TOKEN", key: "jti_1" }, {}, { kind: "TOKEN", key: "jti_2" })
  forge((jws) => {
    const after = Number(new URLSearchParams(asked.at(-1)?.split("?")[1]).get("after"))
    const whole = statement(after)
    return after === 3 ? jws : sign({ ...whole, to: after + 1, entries: whole.entries.slice(0, 1) })
  })
  await feed.refresh()
  expect(asked).toHaveLength(3)
  expect(feed.seq).toBe(3)
  expect(await decide(token())).toBe("SESSION_REVOKED")
})

test("a revoked key is withdrawn at once, and cached verifications with it are dropped", async () => {
  const { feed, token, decide, revoke, jwk } = followedIssuer()
  const held = token()
  await feed.refresh()
  expect(await decide(held)).toBe("allow")
  revoke({ kind: "KEY", key: jwk.kid })
  await feed.refresh()
  expect(await decide(held)).toBe("KEY_UNKNOWN")
})

test("in an isolate a call reads the feed, shared by concurrent calls and not more often than configured", async () => {
  const { token, decide, revoke, pass, asked, setDown, problems } = followedIssuer({ askEveryMs: 2_000 })
  const held = token()
  expect(await Promise.all([decide(held), decide(held), decide(held)])).toEqual(["allow", "allow", "allow"])
  revoke({})
  pass(1_999)
  expect(await decide(held)).toBe("allow")
  expect(asked).toHaveLength(1)
  pass(1)
  expect(await decide(held)).toBe("SESSION_REVOKED")
  setDown(true)
  pass(2_000)
  expect(await decide(held)).toBe("SESSION_REVOKED")
  expect(problems).toEqual(["UNREACHABLE"])
})

test("the feed is followed in the background until it is stopped, and continues after a fault", async () => {
  const told = Promise.withResolvers<void>()
  const { feed, token, decide, revoke, setDown } = followedIssuer({ random: () => 0, onProblem: () => told.resolve() })
  const held = token()
  setDown(true)
  feed.start()
  feed.start()
  await told.promise
  revoke({})
  setDown(false)
  while ((await decide(held)) === "allow") await new Promise((resolve) => setTimeout(resolve, 5))
  expect(await decide(held)).toBe("SESSION_REVOKED")
  await feed.stop()
  await expect(feed.refresh()).rejects.toThrow("UNREACHABLE")
})

test("an introspection response about another token, or an empty one, is rejected", async () => {
  const { token, clock, issuer, audience, jwk, pair } = createIssuer()
  expect(pair).toBeDefined()
  for (const answer of [{ active: true, jti: "jti_other" }, { active: "yes" }, [], { active: true }]) {
    const introspect = createIntrospection({
      url: issuer,
      token: async () => "own",
      fetch: async () => Response.json(answer),
      clock,
    })
    const keySet = createLocalKeySet({ jwks: () => [jwk] }, nodeTokenCrypto)
    const guard = createGuard({ issuer, audience, appId: ids.app, clock, keySet, introspect })
    const caller = await guard.authenticate(`Bearer ${token({ iat: 1_699_999_900, nbf: 1_699_999_900 })}`)
    const decision = await guard.authorize(caller, freshness(1, "INTROSPECT"), {})
    expect(decision).toMatchObject({ allow: false, reason: "REVOCATION_STATE_STALE" })
  }
})

test("a mailbox learns of revoked keys and principals by kind, and gets an error a minute after the feed's last answer", async () => {
  const { feed, revoke, pass, clock } = followedIssuer()
  revoke({ kind: "CREDENTIAL", key: "key-a" }, { kind: "PRINCIPAL", key: ids.service })
  await feed.refresh()
  const issuedAtMs = clock.nowMs()
  const isRevoked = (kind: "CREDENTIAL" | "PRINCIPAL", key: string) => feed.isRevoked({ kind, key, issuedAtMs })
  expect(await isRevoked("CREDENTIAL", "key-a")).toBe(true)
  expect(await isRevoked("PRINCIPAL", "key-a")).toBe(false)
  expect(await isRevoked("PRINCIPAL", ids.service)).toBe(true)
  expect(await isRevoked("CREDENTIAL", "key-b")).toBe(false)
  pass(60_000)
  expect(await isRevoked("CREDENTIAL", "key-b")).toBe(false)
  pass(1)
  for (const key of ["key-a", "key-b"]) await expect(isRevoked("CREDENTIAL", key)).rejects.toThrow("stale")
})

test("the facts about a token date from its issue, or from the feed while an access token of that age is valid", async () => {
  const { feed, claims, clock, pass } = followedIssuer()
  await feed.refresh()
  const heardAtMs = clock.nowMs()
  pass(longestTokenMs - 5_000)
  const nowMs = clock.nowMs()
  const asOf = async (issuedAtMs: number) =>
    (await feed.liveness({ ...contextOf(JSON.parse(JSON.stringify(claims()))), issuedAtMs }))?.asOfMs
  expect(await asOf(nowMs - 1_000)).toBe(nowMs - 1_000)
  expect(await asOf(nowMs + 1_000)).toBe(nowMs)
  expect(await asOf(nowMs - longestTokenMs)).toBe(heardAtMs)
  expect(await asOf(nowMs - longestTokenMs - 1)).toBe(nowMs - longestTokenMs - 1)
})

test("an issuer with a gap each time is asked from the beginning three times, then counts as unreachable", async () => {
  const { feed, revoke, forge, sign, statement, asked } = followedIssuer()
  revoke({ kind: "TOKEN", key: "jti_1" })
  forge(() => sign(statement(1, { from: 5, to: 6, head: 6, entries: [] })))
  await expect(feed.refresh()).rejects.toThrow("GAP")
  expect(asked).toHaveLength(4)
})

test.each([[null], [5], [{}], [{ statement: 5 }]])("the answer %j is no statement", async (body) => {
  const { feed } = followedIssuer({ fetch: async () => Response.json(body) })
  await expect(feed.refresh()).rejects.toThrow("MALFORMED_CREDENTIAL")
})
