// Fuzzes the token parser: every input yields a caller or a reason, never an exception.

import { refusals } from "@signet/kernel/errors"
import fc from "fast-check"
import { expect, test } from "vitest"
import { effort } from "../../test/support/effort.ts"
import { createVerifier } from "./access-token.ts"
import { webTokenCrypto } from "./token-crypto.ts"

const numRuns = effort(1_000, 20_000, 100_000)
const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString("base64url")
const key = { verify: () => true }
// Accepts every signature, so that the code behind the signature check is reached.
const verify = createVerifier({
  issuer: "https://auth.example",
  audience: null,
  keySet: { find: async () => key },
  crypto: webTokenCrypto,
  clock: { nowMs: () => 1_000_000 },
  cacheSize: 0,
})

const header = fc.oneof(
  fc.constant({ alg: "ES256", typ: "at+jwt", kid: "k" }),
  fc.record(
    { alg: fc.constantFrom("ES256", "none", "HS256", 1), typ: fc.jsonValue(), kid: fc.jsonValue() },
    { requiredKeys: [] },
  ),
)
const idOf = (kind: string) => `${kind}_00000000000000000000000000`
const common = {
  iss: "https://auth.example",
  aud: "svc",
  sub: idOf("prn"),
  jti: "j",
  app_id: idOf("app"),
  scp: ["a"],
  amr: [],
  perm_ver: 0,
  iat: 1_000,
  nbf: 1_000,
  exp: 1_600,
  client_id: "c",
}
const user = { ...common, principal_type: "user", identity_id: idOf("idn") }
const act = { sub: idOf("prn"), principal_type: "service", client_id: "c" }
const good = [
  { ...user, gty: "session", sid: idOf("ses") },
  { ...user, gty: "pat" },
  { ...user, gty: "on_behalf_of", act: { ...act, act }, job_id: "j", osid: idOf("ses") },
  { ...common, principal_type: "service", gty: "client_credentials" },
]
const names = [...new Set(good.flatMap((claims) => Object.keys(claims)))]
const deep = { ...act, act: { ...act, act: { ...act, act } } }
const strange = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(...good.flatMap((claims): unknown[] => Object.values(claims)), deep, undefined),
)
// Valid claims, a few of them replaced by strange values, values of other claims, or undefined.
const payload = fc
  .tuple(fc.constantFrom(...good), fc.array(fc.tuple(fc.constantFrom(...names), strange), { maxLength: 3 }))
  .map(([claims, changes]) => ({ ...claims, ...Object.fromEntries(changes) }))
const parts = fc.tuple(header, fc.oneof({ weight: 4, arbitrary: payload }, { weight: 1, arbitrary: fc.jsonValue() }))
const token = fc.oneof(
  fc.string(),
  fc.array(fc.base64String(), { maxLength: 4 }).map((all) => all.join(".")),
  parts.map(
    ([first, second]) => `${encode(first)}.${encode(second ?? null)}.${Buffer.alloc(64).toString("base64url")}`,
  ),
)

test("a token yields a caller or a reason, and a caller is complete", async () => {
  let callers = 0
  await fc.assert(
    fc.asyncProperty(token, async (text) => {
      const caller = await verify(text)
      if (typeof caller === "string") {
        expect(Object.keys(refusals)).toContain(caller)
        return
      }
      callers++
      expect(caller.principal.id).toMatch(/^prn_/)
      expect((caller.actor === null) === (caller.delegation === null)).toBe(true)
      expect(caller.method === "ON_BEHALF_OF").toBe(caller.actor !== null)
      expect(caller.sessionId !== null).toBe(caller.method === "USER_SESSION")
      expect(caller.delegation?.depth ?? 1).toBeLessThanOrEqual(3)
    }),
    { numRuns },
  )
  // Noise that is never accepted would not test the code behind the checks.
  expect(callers).toBeGreaterThan(20)
})
