import { createClient } from "@connectrpc/connect"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { expect, test } from "vitest"
import { createObservableValue } from "./observable-value.ts"
import { rest } from "./rest.ts"
import { createSessionOf } from "./session-of.ts"
import { memoryPlatforms, testClock } from "./testing/memory-platform.ts"

test("a call has its audience's token and no cookie, also on the page's own origin", async () => {
  const seen: RequestInit[] = []
  const platform = memoryPlatforms({ clock: testClock(), wire: rest }).tab({
    async fetch(_, init) {
      seen.push(init ?? {})
      return Response.json({})
    },
  })
  const never = () => Promise.reject(new Error("not in this test"))
  const session = createSessionOf({
    config: { appId: "app_1", authBaseUrl: "https://app.example", providers: [] },
    authAudience: "auth",
    platform,
    logout: never,
    live: {
      states: createObservableValue({ is: "starting" }),
      ready: Promise.resolve(),
      token: async (audience) => ({ token: `of ${audience}`, generation: 1, sinceMs: 0, goodUntilMs: 1e15 }),
      renewedToken: never,
      ...{ begin() {}, end() {}, wake() {}, suspend() {}, close() {} },
    },
  })
  await createClient(AuthService, session.transport()).me({})
  await createClient(AuthService, session.transport({ audience: "svc-notes" })).me({})
  expect(seen.map(({ credentials }) => credentials)).toEqual(["omit", "omit"])
  const said = seen.map(({ headers }) => new Headers(headers).get("authorization"))
  expect(said).toEqual(["Bearer of auth", "Bearer of svc-notes"])
  // A service with the auth service's token could act as the user there.
  const invalid = expect.objectContaining({ reason: "CONFIGURATION_INVALID" })
  expect(() => session.transport({ baseUrl: "https://notes.example" })).toThrow(invalid)
  expect(() => session.transport({ audience: "svc-notes", baseUrl: "http://notes.example" })).toThrow(invalid)
  session.transport({ audience: "svc-notes", baseUrl: "https://notes.example" })
  session.transport({ baseUrl: "https://app.example" })
})
