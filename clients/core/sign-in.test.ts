import { create } from "@bufbuild/protobuf"
import { createRouterTransport } from "@connectrpc/connect"
import { AuthService, ExternalLoginResponseSchema } from "@signet/proto/auth/v1/auth_service"
import { expect, test } from "vitest"
import { createSignet } from "./create-signet.ts"
import { memoryPlatforms, testClock } from "./testing/memory-platform.ts"

const whole = {
  ...{ session: { id: "ses_1" }, identity: { id: "idn_1" }, principal: { id: "prn_1" } },
  ...{ accessTokens: { auth: "token" }, refreshToken: "next", expiresIn: 600 },
}
type Answer = { readonly [Field in keyof typeof whole]: (typeof whole)[Field] | undefined }

/** Signs in at a service that answers with this. */
async function signInWith(change: Partial<Answer>) {
  // Protobuf reads undefined as an absent field.
  const answer = create(ExternalLoginResponseSchema, { ...whole, ...change } as typeof whole)
  const wire = () => createRouterTransport(({ service }) => service(AuthService, { externalLogin: () => answer }))
  const config = { appId: "app_01kdvdna00edmtevk5ehj6axhg", authBaseUrl: "https://auth.example" }
  const platform = memoryPlatforms({ clock: testClock(), wire }).tab({})
  const signet = createSignet({ ...config, providers: ["IDP_A"] }, platform)
  await signet.session.ready
  const signing = signet.login({ provider: "IDP_A", nonce: "n", credential: { idToken: "t" } })
  const reason = await signing.then(
    () => "none",
    (error: { readonly reason?: string }) => error.reason,
  )
  const { current } = signet.session
  signet.close()
  return { reason, is: current.is }
}

test("an answer that names the signed-in user signs in", async () => {
  expect(await signInWith({})).toEqual({ reason: "none", is: "signedIn" })
})

test.each<[string, Partial<Answer>]>([
  ["no session", { session: undefined }],
  ["no identity", { identity: undefined }],
  ["no principal", { principal: undefined }],
  ["a session without an id", { session: { id: "" } }],
  ["an identity without an id", { identity: { id: "" } }],
  ["a principal without an id", { principal: { id: "" } }],
  ["no access token", { accessTokens: Object() }],
  ["no refresh token", { refreshToken: "" }],
  ["tokens that have expired", { expiresIn: 0 }],
])("an answer with %s signs nobody in", async (_, change) => {
  expect(await signInWith(change)).toEqual({ reason: "ANSWER_INVALID", is: "loggedOut" })
})
