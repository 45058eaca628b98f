import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { createKeySet } from "../key-set.ts"
import { nodeTokenCrypto } from "../node/token-crypto.ts"
import { webTokenCrypto } from "../token-crypto.ts"
import type { Answer, keySetVectors } from "./key-sets.ts"

const vectors: ReturnType<typeof keySetVectors> = JSON.parse(
  readFileSync(join(import.meta.dirname, "key-sets.json"), "utf8"),
)

function keySetOver(answer: () => Answer, clock: { nowMs(): number }, crypto = nodeTokenCrypto) {
  return createKeySet({
    url: "https://auth.example/.well-known/jwks.json",
    crypto,
    clock,
    async fetch(input, init) {
      const given = answer()
      if (given === "unreachable") throw new TypeError("fetch failed")
      if (given.status >= 300 && given.status < 400 && init?.redirect !== "manual") {
        throw new Error(`the redirect of ${input} was followed`)
      }
      return new Response(given.status === 204 ? null : given.text, { status: given.status })
    },
  })
}

describe.each([
  ["node:crypto", nodeTokenCrypto],
  ["WebCrypto", webTokenCrypto],
])("with %s", (_, crypto) => {
  test.each(vectors.documents)("a document: $name", async ({ text, padTo = 0, expected }) => {
    const clock = { nowMs: () => vectors.now * 1_000 }
    const keySet = keySetOver(() => ({ status: 200, text: text.padEnd(padTo) }), clock, crypto)
    const named = [...new Set(vectors.documents.flatMap((one) => one.expected ?? []))]
    const odd = ["../key", "k".repeat(129), "key-1\n", ""]
    if (expected === null) expect(await keySet.find("key-1")).toBe("UNAVAILABLE")
    for (const kid of [...named, ...odd, "rsa-1", "hmac", "ed"]) {
      const found = await keySet.find(kid)
      const otherwise = expected === null ? "UNAVAILABLE" : "KEY_UNKNOWN"
      expect(typeof found === "object" ? "found" : found, kid).toBe(expected?.includes(kid) ? "found" : otherwise)
    }
  })
})

test.each(vectors.sequences)("a sequence: $name", async ({ steps }) => {
  let nowMs = 0
  let fetches = 0
  let answer: Answer = "unreachable"
  const keySet = keySetOver(
    () => {
      fetches++
      return answer
    },
    { nowMs: () => nowMs },
  )
  for (const [i, step] of steps.entries()) {
    nowMs = step.now * 1_000
    answer = step.answer ?? answer
    const found = await keySet.find(step.find)
    expect({ found: typeof found === "object" ? "found" : found, fetches }, `step ${i}`).toEqual({
      found: step.expected,
      fetches: step.fetches,
    })
  }
})
