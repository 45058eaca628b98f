// The revocation feed as its readers call it: permissions, limits and delays.
import { type Client, createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { maxReaders } from "@signet/kernel/revocation/limits"
import { RevocationService } from "@signet/proto/auth/v1/revocation_service"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createRevocationFeed } from "../../server/rpc/revocation/feed.ts"
import { createReaders } from "../../server/rpc/revocation/readers.ts"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { addReader } from "../support/followed.ts"
import { addMachine, basic, type Machine, postForm } from "../support/machines.ts"
import { claimsOf } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

let server: TestServer
let clients: Clients
let revocations: Client<typeof RevocationService>
let reader: Machine
let own: { headers: Record<string, string> }
beforeAll(async () => {
  server = await startTestServer({ store: storyStore })
  clients = clientsOver((protocols.gRPC ?? expect.unreachable)(server.url))
  revocations = createClient(RevocationService, createGrpcTransport({ baseUrl: server.url }))
  reader = await addReader(server)
  own = bearer(await tokenOf(reader, "auth.revocations.read"))
})
afterAll(() => server?.close())

async function tokenOf(machine: Machine, scope: string): Promise<string> {
  const form = { grant_type: "client_credentials", audience: "auth", scope }
  return String((await postForm(`${server.url}/auth/token`, form, basic(machine))).body.access_token)
}
const revoke = (key: string) =>
  server.deps.store.transaction((tx) =>
    tx.revocations.add([{ kind: "TOKEN", key, expiresAtMs: server.deps.clock.nowMs() + 900_000 }]),
  )
const statementOf = (jws: string) =>
  claimsOf(jws) as { seq_from: number; seq_to: number; head: number; iat: number; entries: { key: string }[] }
const list = async (after: number, wait = 0) =>
  statementOf((await revocations.listRevocations({ after: BigInt(after), wait }, own)).statement)

describe("the log is read by a service with the scope only", () => {
  test("a user is refused, whatever the token contains", async () => {
    const { accessToken } = await clients.auth.externalLogin(await server.login("ada"))
    const scp = ["auth.revocations.read"]
    const forged = server.keys.sign("at+jwt", { ...claimsOf(accessToken), scp })
    const refused = "PermissionDenied PRINCIPAL_KIND_NOT_ALLOWED"
    expect(await refusal(revocations.listRevocations({}, bearer(forged)))).toBe(refused)
    expect(await refusal(revocations.getRevocationSnapshot({}, bearer(forged)))).toBe(refused)
    expect(await refusal(first(revocations.watchRevocations({}, bearer(forged))))).toBe(refused)
  })

  test("another service, another audience and another scope are refused", async () => {
    const other = await addMachine(server, { allowedAudiences: ["auth", "svc-notes"], scopes: ["notes.read"] })
    expect(await refusal(revocations.listRevocations({}, {}))).toBe("Unauthenticated NO_CREDENTIAL")
    for (const scope of ["auth.introspect", ""]) {
      const token = await tokenOf(scope === "" ? other : reader, scope)
      const call = revocations.listRevocations({}, bearer(token))
      expect(await refusal(call)).toMatch(/^(PermissionDenied MISSING_SCOPE|Unauthenticated MALFORMED_CREDENTIAL)$/)
    }
    const elsewhere = server.keys.sign("at+jwt", {
      ...claimsOf(own.headers.authorization?.slice(7) ?? ""),
      aud: "svc-notes",
    })
    expect(await refusal(revocations.listRevocations({}, bearer(elsewhere)))).toBe("Unauthenticated AUDIENCE_MISMATCH")
  })
})

test.runIf(isLong)("a waiting call is answered on a revocation, and at its timeout", async () => {
  const { head } = await list(0)
  const began = performance.now()
  const waiting = list(head, 25)
  await new Promise((resolve) => setTimeout(resolve, 50))
  await revoke("jti_waited_for")
  expect(await waiting).toMatchObject({ seq_from: head, seq_to: head + 1, entries: [{ key: "jti_waited_for" }] })
  expect(performance.now() - began).toBeLessThan(20_000)
  expect(await list(head + 1, 1)).toMatchObject({ seq_from: head + 1, seq_to: head + 1, entries: [] })
})

test("REST answers the same, and the answer is not cacheable", async () => {
  const response = await fetch(`${server.url}/auth/revocations?after=0&wait=0`, own)
  expect(response.headers.get("cache-control")).toBe("no-store")
  const { statement } = (await response.json()) as { statement: string }
  expect(JSON.parse(Buffer.from(statement.split(".")[0] ?? "", "base64url").toString())).toMatchObject({
    alg: "ES256",
    typ: "rev+jwt",
  })
  expect(server.keys.jwks("STATEMENT").map(({ kid }) => kid)).toContain(
    JSON.parse(Buffer.from(statement.split(".")[0] ?? "", "base64url").toString()).kid,
  )
  const snapshot = await fetch(`${server.url}/auth/revocations/snapshot`, own)
  expect(snapshot.status).toBe(200)
  for (const query of ["wait=26", "after=-1", "after=9007199254740992"]) {
    expect((await fetch(`${server.url}/auth/revocations?${query}`, own)).status).toBe(400)
  }
})

test("a number beyond the end is answered with the end", async () => {
  const { head } = await list(0)
  expect(await list(head + 5, 20)).toMatchObject({ seq_from: head, seq_to: head, head })
})

test("a stream from a number beyond the end is answered with the end, and ends", async () => {
  const { head } = await list(0)
  const stream = revocations.watchRevocations({ after: BigInt(head + 5) }, own)[Symbol.asyncIterator]()
  expect(statementOf((await stream.next()).value?.statement ?? "")).toMatchObject({ seq_to: head, head })
  expect(await refusal(stream.next())).toBe("Unavailable UNAVAILABLE")
  expect(server.revocations.feed.lagMs()).toBeGreaterThanOrEqual(0)
})

test("a stream sends revocations as they occur, and ends with its caller's token", async () => {
  const token = await tokenOf(reader, "auth.revocations.read")
  const stream = revocations.watchRevocations({ after: 0n }, bearer(token))[Symbol.asyncIterator]()
  const next = async () => statementOf((await stream.next()).value?.statement ?? "")
  const { head } = await next()
  const coming = next()
  await revoke("jti_streamed")
  expect(await coming).toMatchObject({ seq_from: head, seq_to: head + 1, entries: [{ key: "jti_streamed" }] })
  const ended = next()
  server.advance(601_000)
  await revoke("jti_after_the_token")
  expect(await refusal(ended)).toBe("Unauthenticated TOKEN_EXPIRED")
  own = bearer(await tokenOf(reader, "auth.revocations.read"))
})

test("a waiting call or stream ends once its caller's secret was revoked", async () => {
  const stolen = await addMachine(server, { allowedAudiences: ["auth"], scopes: ["auth.revocations.read"] })
  const token = bearer(await tokenOf(stolen, "auth.revocations.read"))
  const stream = revocations.watchRevocations({ after: 0n }, token)[Symbol.asyncIterator]()
  const { head } = statementOf((await stream.next()).value?.statement ?? "")
  const waiting = revocations.listRevocations({ after: BigInt(head), wait: 20 }, token)
  const [ended, refused] = [refusal(stream.next()), refusal(waiting)]
  await new Promise((resolve) => setTimeout(resolve, 50))
  server.advance(3_000)
  const { id } = stolen.secretRecord
  await server.deps.store.transaction((tx) =>
    tx.revocations.add([{ kind: "CREDENTIAL", key: id, expiresAtMs: server.deps.clock.nowMs() + 930_000 }]),
  )
  expect(await Promise.all([ended, refused])).toEqual(Array(2).fill("Unauthenticated CREDENTIAL_REVOKED"))
})

test.runIf(isLong)(
  "a closing server ends waiting calls",
  async () => {
    const other = await startTestServer({ store: storyStore })
    const token = await postForm(
      `${other.url}/auth/token`,
      { grant_type: "client_credentials", audience: "auth", scope: "auth.revocations.read" },
      basic(await addReader(other)),
    )
    const called = createClient(RevocationService, createGrpcTransport({ baseUrl: other.url }))
    const as = bearer(String(token.body.access_token))
    const stream = called.watchRevocations({}, as)[Symbol.asyncIterator]()
    await stream.next()
    const ended = refusal(stream.next())
    const waiting = called.listRevocations({ wait: 25 }, as)
    while ((await called.listRevocations({}, as)).statement === "");
    await other.close()
    expect(statementOf((await waiting).statement)).toMatchObject({ head: 0, entries: [] })
    expect(await ended).toBe("Unavailable UNAVAILABLE")
  },
  7_000,
)

test("the readers of one service, and all readers, are limited", () => {
  const readers = createReaders({ ofOne: 2, ofAll: 3 })
  const leave = [readers.enter("a"), readers.enter("a")]
  expect(() => readers.enter("a")).toThrow("a limit is exceeded")
  leave.push(readers.enter("b"))
  expect(() => readers.enter("c")).toThrow("a limit is exceeded")
  for (const each of [...leave, ...leave]) each()
  for (const name of ["a", "a", "b"]) readers.enter(name)
  expect(() => readers.enter("b")).toThrow("a limit is exceeded")
  expect(maxReaders.ofOne).toBeLessThan(maxReaders.ofAll)
})

test("a log that cannot be read gives an error, and one with a pending write gives the time of its last known state", async () => {
  const clock = { ms: 10_000, nowMs: () => clock.ms }
  let part: "down" | { isPending: boolean } = { isPending: false }
  const feed = createRevocationFeed({
    issuer: "https://auth.example",
    clock,
    announce: () => {},
    log: {
      sequence: async () => 0,
      async read({ after }) {
        if (part === "down") throw new Error("no database")
        return { log: "a", head: 4, to: Math.max(after, 4), entries: [], isPending: part.isPending }
      },
    },
  })
  expect(await feed.after(4)).toMatchObject({ head: 4, asOfMs: 10_000 })
  clock.ms += 5_000
  part = "down"
  await expect(feed.after(4)).rejects.toThrow("no database")
  // A revocation in an uncommitted transaction has no number yet: until it has, the age of the end stays.
  part = { isPending: true }
  expect(await feed.after(4)).toMatchObject({ head: 4, asOfMs: 10_000 })
  part = { isPending: false }
  expect(await feed.after(4)).toMatchObject({ head: 4, asOfMs: 15_000 })
})

async function first(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream) return
}
