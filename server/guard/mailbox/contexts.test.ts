// How long a sender caches the issuer's answers. Only the network is simulated.
import { type AuthContext, contextOf } from "@signet/kernel/authz/context"
import { delegatedClaims, serviceClaims, userClaims } from "@signet/kernel/authz/testing"
import { newId } from "@signet/kernel/ids"
import { expect, test } from "vitest"
import { type ContextsOptions, createContexts } from "./contexts.ts"

function issuer(change: Partial<ContextsOptions> = {}) {
  const clock = { ms: 1_700_000_000_000, nowMs: () => clock.ms }
  const asked: string[] = []
  const answers = { next: (_: string): Response => Response.json({}) }
  const contexts = createContexts({
    baseUrl: "https://auth.example",
    clientId: "svc-web",
    clientSecret: "sgsec_x",
    token: async () => "own-token",
    clock,
    fetch: async (url) => {
      asked.push(String(url))
      return answers.next(String(url))
    },
    ...change,
  })
  return { clock, asked, answers, contexts }
}

const good = { access_token: "ctx", scope: "notes.read  notes.write", expires_in: 100 }
const user = contextOf(userClaims)

test("a context token is fetched once for concurrent callers, and again after half its lifetime", async () => {
  const { clock, asked, answers, contexts } = issuer()
  answers.next = () => Response.json(good)
  const both = await Promise.all([contexts.of(user, "token"), contexts.of(user, "token")])
  expect(both[0]).toMatchObject({ contextToken: "ctx", scopes: ["notes.read", "notes.write"] })
  expect(asked).toEqual(["https://auth.example/auth/token"])
  clock.ms += 49_999
  await contexts.of(user, "token")
  expect(asked).toHaveLength(1)
  clock.ms += 1
  await contexts.of(user, "token")
  expect(asked).toHaveLength(2)
})

test.each<[string, AuthContext]>([
  ["principal", contextOf({ ...userClaims, sub: newId("prn", 9, new Uint8Array(10)) })],
  ["session", contextOf({ ...userClaims, sid: newId("ses", 9, new Uint8Array(10)) })],
  ["app", contextOf({ ...userClaims, app_id: newId("app", 9, new Uint8Array(10)) })],
  ["tenant", contextOf({ ...userClaims, tenant_id: newId("ten", 9, new Uint8Array(10)) })],
  ["context", contextOf({ ...userClaims, context_id: newId("ctx", 9, new Uint8Array(10)) })],
  ["audience", contextOf({ ...userClaims, aud: "svc-other" })],
  ["scopes", contextOf({ ...userClaims, scp: ["notes.write"] })],
  ["authority", contextOf({ ...userClaims, perm_ver: 2 })],
  ["credential", contextOf({ ...userClaims, cred_id: "pat_1" })],
  ["kind", contextOf(serviceClaims)],
  ["actor", contextOf(delegatedClaims)],
])("a cached context is not used for another %s", async (_, other) => {
  const { asked, answers, contexts } = issuer()
  answers.next = () => Response.json(good)
  await contexts.of(user, "token")
  await contexts.of(other, "token")
  await contexts.own()
  expect(asked).toHaveLength(3)
})

test("context tokens are separate for each actor and job", async () => {
  const { asked, answers, contexts } = issuer()
  answers.next = () => Response.json(good)
  const { act } = delegatedClaims
  if (act === undefined) throw new Error("nobody acts")
  const stranger = { ...act, sub: newId("prn", 8, new Uint8Array(10)) }
  for (const claims of [
    delegatedClaims,
    { ...delegatedClaims, job_id: "job-2" },
    { ...delegatedClaims, act: stranger },
  ]) {
    await contexts.of(contextOf(claims), "token")
  }
  expect(asked).toHaveLength(3)
})

test("the cache does not exceed its capacity", async () => {
  const { asked, answers, contexts } = issuer({ cacheSize: 1 })
  answers.next = () => Response.json(good)
  for (const ask of [() => contexts.own(), () => contexts.of(user, "token"), () => contexts.own()]) await ask()
  expect(asked).toHaveLength(3)
  await contexts.own()
  expect(asked).toHaveLength(3)
})

test.each(["access_token", "scope", "expires_in"])("an answer without %s is refused and not cached", async (member) => {
  const { answers, contexts } = issuer()
  answers.next = () => Response.json({ ...good, [member]: undefined })
  await expect(contexts.own()).rejects.toThrow("the response has no context token")
  answers.next = () => Response.json(good)
  expect(await contexts.own()).toMatchObject({ contextToken: "ctx" })
})

test.each(["null", '"text"', "5"])("the answer %s is refused", async (text) => {
  const { answers, contexts } = issuer()
  answers.next = () => new Response(text, { headers: { "content-type": "application/json" } })
  await expect(contexts.own()).rejects.toThrow("the response has no context token")
  await expect(contexts.certificate("kid")).rejects.toThrow("no certificate in the answer")
})

test("a certificate is cached for five minutes; a missing or failed one is not cached", async () => {
  const { clock, asked, answers, contexts } = issuer()
  answers.next = () => Response.json({}, { status: 404 })
  expect(await contexts.certificate("a/b")).toBeUndefined()
  answers.next = () => Response.json({}, { status: 500 })
  await expect(contexts.certificate("a/b")).rejects.toThrow("500")
  answers.next = () => Response.json({ certificate: "c" })
  expect(await contexts.certificate("a/b")).toBe("c")
  expect(asked).toEqual(Array(3).fill("https://auth.example/auth/envelope-certificates/a%2Fb"))
  clock.ms += 299_999
  await contexts.certificate("a/b")
  expect(asked).toHaveLength(3)
  await contexts.certificate("another")
  expect(asked).toHaveLength(4)
  clock.ms += 1
  await contexts.certificate("a/b")
  expect(asked).toHaveLength(5)
})
