import { expect, test } from "vitest"
import { createServiceToken } from "./service-token.ts"

function setUp(answers: unknown[]) {
  const clock = { ms: 1_800_000_000_000, nowMs: () => clock.ms }
  const token = createServiceToken({
    url: "https://auth.example/auth/token",
    clientId: "sac_1",
    clientSecret: "sgsec_1",
    audience: "auth",
    scope: "auth.introspect",
    fetch: async () => Response.json(answers.shift()),
    clock,
  })
  return { token, clock }
}

test.each([
  null,
  5,
  "token",
  {},
  { access_token: "t" },
  { access_token: "t", expires_in: "600" },
  { expires_in: 600 },
  { access_token: 5, expires_in: 600 },
])("the answer %j is no token, and the next call asks again", async (answer) => {
  const { token } = setUp([answer, { access_token: "good", expires_in: 600 }])
  await expect(token()).rejects.toThrow("no token answer")
  expect(await token()).toBe("good")
})
