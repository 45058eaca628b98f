// The messaging Worker gets the auth service's revocations from the feed, which an object of its own reads.
import { expect, onTestFinished, test } from "vitest"
import { serveEdge } from "../support/edge.ts"
import { effort } from "../support/effort.ts"

/** It starts two programs, so the short form leaves it out. */
const isWorthIt = effort(false, true, true)

async function signIn(authUrl: string, audiences: readonly string[]): Promise<Record<string, string>> {
  const asked = await fetch(`${authUrl}/dev/idp-a/login-request`, {
    method: "POST",
    body: '{"email":"ada@example.com"}',
  })
  const answer = await fetch(`${authUrl}/auth/login/idp-a`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...JSON.parse(await asked.text()), audiences }),
  })
  return JSON.parse(await answer.text()).accessTokens
}

test.runIf(isWorthIt)("a logout takes effect at the Worker within seconds, and for that session only", async () => {
  const server = await serveEdge()
  onTestFinished(() => server.close())
  const list = async (token = ""): Promise<string> => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${server.url}/security/devices`, { headers })
    const body: unknown = await answer.json()
    return answer.ok ? "allowed" : String(Reflect.get(Object(body), "reason"))
  }
  const [one, other] = [
    await signIn(server.authUrl, [server.audience, "auth"]),
    await signIn(server.authUrl, [server.audience]),
  ]
  expect([await list(one[server.audience]), await list(other[server.audience])]).toEqual(["allowed", "allowed"])
  const headers = { authorization: `Bearer ${one.auth}`, "content-type": "application/json" }
  const gone = await fetch(`${server.authUrl}/auth/session/logout`, { method: "POST", headers, body: "{}" })
  expect(gone.ok).toBe(true)
  const goneAtMs = performance.now()
  while ((await list(one[server.audience])) === "allowed") await new Promise((resolve) => setTimeout(resolve, 50))
  expect(await list(one[server.audience])).toBe("SESSION_REVOKED")
  // Long before the token's expiry.
  expect(performance.now() - goneAtMs).toBeLessThan(60_000)
  expect(await list(other[server.audience])).toBe("allowed")
  // A token of another service, one with an unknown key, and none.
  expect(await list(one.auth)).toBe("AUDIENCE_MISMATCH")
  const [, ...rest] = (other[server.audience] ?? "").split(".")
  const header = Buffer.from('{"alg":"ES256","typ":"at+jwt","kid":"nobody"}').toString("base64url")
  expect(await list([header, ...rest].join("."))).toBe("KEY_UNKNOWN")
  expect(await list()).toBe("MALFORMED_CREDENTIAL")
})
