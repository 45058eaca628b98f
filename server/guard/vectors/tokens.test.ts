import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { createVerifier } from "../access-token.ts"
import { parseBearer } from "../bearer.ts"
import { createKeySet } from "../key-set.ts"
import { nodeTokenCrypto } from "../node/token-crypto.ts"
import { webTokenCrypto } from "../token-crypto.ts"
import { jsonContext, type tokenVectors } from "./tokens.ts"

const vectors: Awaited<ReturnType<typeof tokenVectors>> = JSON.parse(
  readFileSync(join(import.meta.dirname, "tokens.json"), "utf8"),
)

function verifierAt(nowMs: () => number, cacheSize: number, crypto = nodeTokenCrypto) {
  const { issuer, audience, jwks } = vectors
  const clock = { nowMs }
  const fetcher: typeof fetch = async () => Response.json(jwks)
  const keySet = createKeySet({ url: `${issuer}/.well-known/jwks.json`, crypto, clock, fetch: fetcher })
  const verify = createVerifier({ issuer, audience, keySet, crypto, clock, cacheSize })
  return async (authorization: string | null) => {
    const parsed = parseBearer(authorization)
    return typeof parsed === "string" ? parsed : verify(parsed.token)
  }
}

test.each([
  ["node:crypto", nodeTokenCrypto],
  ["WebCrypto", webTokenCrypto],
])("each header is accepted or refused for its reason, with %s", async (_, crypto) => {
  const seen: [string, unknown][] = []
  for (const { name, authorization } of vectors.cases) {
    const found = await verifierAt(() => vectors.now * 1_000, 0, crypto)(authorization)
    seen.push([name, typeof found === "string" ? { reason: found } : { context: jsonContext(found) }])
  }
  expect(seen).toEqual(vectors.cases.map(({ name, expected }) => [name, expected]))
  expect(new Set(seen.map(([name]) => name)).size).toBe(seen.length)
})

test.each(vectors.sequences)("a sequence: $name", async ({ steps }) => {
  let now = 0
  const verify = verifierAt(() => now * 1_000, 100)
  for (const [i, step] of steps.entries()) {
    now = step.now
    const found = await verify(step.authorization)
    expect(typeof found === "object" ? "accepted" : found, `step ${i}`).toBe(step.expected)
  }
})
