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

/** A client with all methods, and the requests that its service got. */
async function worldOf() {
  const seen: { [name: string]: unknown }[] = []
  const hear = (request: object) => {
    seen.push({ ...request })
    return { ...whole, membership: { tenantId: "ten_1", contextId: "ctx_1" } }
  }
  const wire = () =>
    createRouterTransport(({ service }) => {
      service(AuthService, { externalLogin: hear, emailPasswordLogin: hear, confirmMagicLink: hear })
    })
  const config = { appId: "app_01kdvdna00edmtevk5ehj6axhg", authBaseUrl: "https://auth.example" }
  const platform = memoryPlatforms({ clock: testClock(), wire }).tab({})
  const signet = createSignet({ ...config, providers: ["IDP_A", "IDP_C", "EMAIL_PASSWORD", "MAGIC_LINK"] }, platform)
  await signet.session.ready
  return { signet, seen }
}

test("the user is at the place of the answer's membership", async () => {
  const { signet } = await worldOf()
  const { user } = await signet.login({ provider: "IDP_A", credential: { idToken: "t" } })
  expect(user).toMatchObject({ tenantId: "ten_1", contextId: "ctx_1" })
  signet.close()
})

test("every method sends the scope, the invitation and the stored identity", async () => {
  const { signet, seen } = await worldOf()
  const options = { tenantId: "ten_1", contextId: "ctx_1", invitationCode: "i", cancelDeletion: true }
  await signet.login({ provider: "IDP_A", credential: { idToken: "t" }, ...options })
  await signet.loginWithPassword({ email: "ada@example.com", password: "p", ...options })
  await signet.confirmMagicLink("hash", options)
  expect(seen).toMatchObject([options, options, options])
  await signet.login({ provider: "IDP_A", credential: { idToken: "t" } })
  expect(seen[3]).toMatchObject({ tenantId: "", contextId: "", invitationCode: "", cancelDeletion: false })
  signet.close()
})

test("a provider's session is sent as such, with the provider's profile data", async () => {
  const { signet, seen } = await worldOf()
  const profileHints = { name: "Ada", email: "ada@example.com" }
  await signet.login({ provider: "IDP_C", credential: { providerSession: "s" }, profileHints })
  expect(seen[0]).toMatchObject({ credential: { case: "providerSession", value: "s" }, profileHints })
  signet.close()
})

test("a magic link requires a redirect address", async () => {
  const { signet } = await worldOf()
  await expect(signet.sendMagicLink("ada@example.com")).rejects.toMatchObject({ reason: "CONFIGURATION_INVALID" })
  signet.close()
})
