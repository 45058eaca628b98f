import { createRouterTransport } from "@connectrpc/connect"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { expect, test } from "vitest"
import { createAuthClient, present } from "./auth-calls.ts"
import { memoryBox, memoryPlatforms, testClock } from "./testing/memory-platform.ts"

/** A service that refreshes whatever session its caller's cookie, or token, is of. */
function worldOf(place: "cookie" | "box", sessionId: string) {
  const loggedOut: string[] = []
  const wire = () =>
    createRouterTransport((router) => {
      router.service(AuthService, {
        refresh: ({ refreshToken }) => ({
          accessTokens: { auth: "token" },
          expiresIn: 600,
          refreshToken: refreshToken && "next",
          session: { id: sessionId },
        }),
        logout({ appId }) {
          loggedOut.push(appId)
          return {}
        },
      })
    })
  const refreshToken = place === "cookie" ? ({ in: place } as const) : ({ in: place, box: memoryBox() } as const)
  const client = createAuthClient(
    "https://auth.example",
    memoryPlatforms({ clock: testClock(), wire }).tab({ refreshToken }),
  )
  const user = { sessionId: "ses_1", identityId: "idn_1", principalId: "prn_1" }
  const record = {
    user: { ...user, primaryEmail: undefined, tenantId: undefined, contextId: undefined },
    ...{ refreshToken: place === "box" ? "r" : undefined, retryKey: "k", generation: 1, tokensGoodUntilMs: 0 },
  }
  return { loggedOut, refreshed: present(client, { appId: "app_1", record, audiences: ["auth"] }) }
}

test.each(["cookie", "box"] as const)("a refresh of the session that is kept gives its tokens (%s)", async (place) => {
  const { refreshed, loggedOut } = worldOf(place, "ses_1")
  expect((await refreshed).accessTokens).toEqual({ auth: "token" })
  expect(loggedOut).toEqual([])
})

test("a cookie of somebody who signed in unnoticed gives nobody their tokens, and ends", async () => {
  const { refreshed, loggedOut } = worldOf("cookie", "ses_2")
  await expect(refreshed).rejects.toMatchObject({ reason: "REFRESH_TOKEN_INVALID" })
  expect(loggedOut).toEqual(["app_1"])
})
