import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Requirement } from "@signet/kernel/authz/requirement"
import { expect, test } from "vitest"
import { anyApp, createGuard } from "../guard.ts"
import { createIntrospection } from "../introspection.ts"
import { createLocalKeySet } from "../key-set.ts"
import { nodeTokenCrypto } from "../node/token-crypto.ts"
import { createRevocationFeed } from "../revocation/feed.ts"
import type { feedVectors } from "./feed.ts"
import type { CallStep, FeedSequence } from "./feed-script.ts"

const vectors: ReturnType<typeof feedVectors> = JSON.parse(readFileSync(join(import.meta.dirname, "feed.json"), "utf8"))
const anybody: Requirement = { is: "kinds", of: ["USER", "SERVICE"], allowDelegated: true }

test.each(vectors.sequences)("$name", async ({ capacity = 1_000, steps }) => {
  const { issuer, audience, jwks, statementJwks, tokens } = vectors
  let nowMs = 0
  let exchanges: { asked: string; answer: FeedSequence["steps"][number] | unknown }[] = []
  let introspection: CallStep["introspection"]
  const clock = { nowMs: () => nowMs }
  const fetcher: typeof fetch = async (input, init) => {
    const url = new URL(String(input))
    if (url.pathname === "/auth/token/introspect") {
      if (introspection === undefined || introspection === "down") throw new TypeError("fetch failed")
      const token = new URLSearchParams(String(init?.body)).get("token") ?? ""
      const { jti } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())
      if (introspection === "inactive") return Response.json({ active: false })
      return Response.json({ active: true, jti: introspection === "active" ? jti : "jti_another" })
    }
    const exchange = exchanges.shift()
    expect(`${url.pathname}${url.search}`).toBe(exchange?.asked)
    const answer = exchange?.answer
    if (typeof answer !== "object" || answer === null) throw new TypeError("fetch failed")
    return "status" in answer ? new Response(null, { status: Number(answer.status) }) : Response.json(answer)
  }
  const feed = createRevocationFeed({
    issuer,
    baseUrl: issuer,
    statementKeys: createLocalKeySet({ jwks: () => statementJwks.keys }, nodeTokenCrypto),
    token: async () => "own",
    clock,
    fetch: fetcher,
    capacity,
  })
  const guard = createGuard({
    issuer,
    audience,
    appId: anyApp,
    clock,
    crypto: nodeTokenCrypto,
    keySet: createLocalKeySet({ jwks: () => jwks.keys }, nodeTokenCrypto),
    revocations: feed,
    introspect: createIntrospection({
      url: `${issuer}/auth/token/introspect`,
      token: async () => "own",
      fetch: fetcher,
      clock,
    }),
  })
  for (const [i, step] of steps.entries()) {
    nowMs = step.now * 1_000
    if ("token" in step) {
      introspection = step.introspection
      const caller = await guard.authenticate(`Bearer ${tokens[step.token]}`)
      const decision = await guard.authorize(caller, step.requirement ?? anybody, {})
      expect(decision.allow ? "allow" : decision.reason, `step ${i}: ${step.token}`).toBe(step.expected)
      continue
    }
    exchanges = [...step.exchanges]
    const problem = await feed.refresh().then(
      () => null,
      (error: unknown) => (error instanceof Error && "problem" in error ? error.problem : error),
    )
    expect(
      { problem, seq: feed.seq, size: feed.size, asOf: feed.asOfMs / 1_000, left: exchanges },
      `step ${i}`,
    ).toEqual({
      problem: step.problem,
      seq: step.seq,
      size: step.size,
      asOf: step.asOf,
      left: [],
    })
  }
})
