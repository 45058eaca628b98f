import { createRouterTransport } from "@connectrpc/connect"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { Provider } from "@signet/proto/auth/v1/records"
import { afterEach, expect, test, vi } from "vitest"
import { createSignet } from "../core/create-signet.ts"
import { memoryPlatforms, testClock } from "../core/testing/memory-platform.ts"
import { createBroadcast } from "./broadcast.ts"
import { encodeOutcome } from "./outcome.ts"
import { createPageSignIn } from "./page-sign-in.ts"

afterEach(() => {
  vi.unstubAllGlobals()
})

/** A page whose service offers one provider. */
function pageWith(window: { open: () => object | null }) {
  vi.stubGlobal("window", window)
  vi.stubGlobal("location", new URL("https://app.example/"))
  vi.stubGlobal("document", { hasFocus: () => true })
  const option = { provider: Provider.IDP_A, clientId: "app", scopes: ["openid"], issuers: ["https://idp.example"] }
  const authorizationEndpoint = "https://idp.example/authorize"
  const wire = () =>
    createRouterTransport(({ service }) =>
      service(AuthService, {
        listSignInOptions: () => ({ options: [{ ...option, authorizationEndpoint }] }),
        startSignIn: () => ({ nonce: "n", transaction: "t" }),
      }),
    )
  const config = {
    appId: "app_01kdvdna00edmtevk5ehj6axhg",
    authBaseUrl: "https://auth.example",
    providers: ["IDP_A"],
  } as const
  const signet = createSignet(config, memoryPlatforms({ clock: testClock(), wire }).tab({}))
  return createPageSignIn({ signet, place: "a place", callbackPath: "/callback" })
}

test("the provider's page gets no reference to the page that opened it", async () => {
  const seen: { isReferred: boolean; origin: string }[] = []
  const outcomes = createBroadcast("a place callback")
  let closes = 0
  const popup = {
    opener: globalThis as unknown,
    closed: false,
    close: () => void closes++,
    location: {
      set href(to: string) {
        const { origin, searchParams } = new URL(to)
        seen.push({ isReferred: popup.opener !== null, origin })
        const state = searchParams.get("state") ?? ""
        const failed = { is: "failed", reason: "PROVIDER_REFUSED", message: "no", metadata: {} } as const
        outcomes.post(encodeOutcome({ ...failed, state }))
      },
    },
  }
  const page = pageWith({ open: () => popup })
  await expect(page.signInWithPopup()).rejects.toMatchObject({ reason: "PROVIDER_REFUSED" })
  outcomes.suspend()
  page.close()
  expect([seen, closes]).toEqual([[{ isReferred: false, origin: "https://idp.example" }], 1])
})

test("a browser that opens no window is reported", async () => {
  const page = pageWith({ open: () => null })
  await expect(page.signInWithPopup()).rejects.toMatchObject({ reason: "POPUP_BLOCKED" })
})
