import { create, toBinary } from "@bufbuild/protobuf"
import {
  FetchRequestSchema,
  FinishSignInRequestSchema,
  IdentityOptionsSchema,
  LoginRequestSchema,
} from "@signet/proto/client/v1/identity_service"
import { OpenRequestSchema } from "@signet/proto/client/v1/messenger_service"
import { type Effect, type EffectResult, HostInfoSchema, Primitive } from "@signet/proto/host/v1/host"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { nodePrimitives } from "../node/primitives.ts"
import { createSigningRoots } from "../node/signing-roots.ts"
import { emptyEffects, memoryStorage, result, startCore } from "../testing/platform.ts"
import type { Core } from "./core.ts"

const ready = new Uint8Array()
const login = toBinary(
  LoginRequestSchema,
  create(LoginRequestSchema, { provider: "IDP_A", credential: { idToken: "x" } }),
)
const primitives = () => nodePrimitives({ roots: createSigningRoots(memoryStorage()) })

/** The kind and reason of a failure. */
const failure = async (call: Promise<unknown>) => {
  const error = await call.then(() => expect.fail("no failure"), Object)
  return `${error.failure.kind} ${error.failure.reason}`
}
const [signet, messaging, secretBox, internal, host] = [1, 2, 3, 4, 5]

test.runIf(isLong)("a core is refused with a configuration that the client does not accept", async () => {
  const info = create(HostInfoSchema, { version: 2 })
  expect(await failure(startCore({ info }))).toBe(`${internal} INVALID_ARGUMENT`)
  const early = create(HostInfoSchema, { version: 1, deferred: [Primitive.SHA256] })
  expect(await failure(startCore({ info: early }))).toBe(`${internal} INVALID_ARGUMENT`)
  const identity = create(IdentityOptionsSchema, { appId: "app", authBaseUrl: "https://a.test", providers: ["IDP_A"] })
  expect(await failure(startCore({ identity }))).toBe(`${signet} CONFIGURATION_INVALID`)
})

test("calls fail with their kind and reason, and the core continues", async () => {
  const core = await startCore()
  await core.call("IdentityService/Ready", ready)
  expect(await failure(core.call("IdentityService/Login", login))).toBe(`${signet} UNREACHABLE`)
  expect(await failure(core.call("IdentityService/Login", Uint8Array.of(1)))).toBe(`${internal} INVALID_ARGUMENT`)
  expect(await failure(core.call("IdentityService/Login", ready))).toBe(`${internal} INVALID_ARGUMENT`)
  expect(await failure(core.call("AdminService/Login", ready))).toBe(`${internal} UNKNOWN_METHOD`)
  expect(await failure(core.call("MessengerService/Sync", ready))).toBe(`${messaging} CLOSED`)
  const open = toBinary(
    OpenRequestSchema,
    create(OpenRequestSchema, { baseUrl: "https://m.test", issuerRootKeys: [new Uint8Array(32)] }),
  )
  expect(await failure(core.call("MessengerService/Open", open))).toBe(`${messaging} NOT_SIGNED_IN`)
  await core.close()
  expect(await failure(core.call("IdentityService/Ready", ready))).toBe(`${messaging} CLOSED`)
})

describe("a core that refuses", () => {
  let core: Core
  beforeAll(async () => {
    core = await startCore({
      identity: create(IdentityOptionsSchema, {
        appId: "app_01kdvdna00edmtevk5ehj6axhg",
        authBaseUrl: "https://auth.example.test",
        providers: ["IDP_A"],
        serviceOrigins: ["https://notes.test"],
      }),
    })
  })
  afterAll(() => core?.close())

  test.each([
    ["https://app.test/callback?state=s&code=c", `${signet} CALLBACK_INVALID`],
    ["https://app.test/callback?state=s&state=t&code=c", `${signet} CALLBACK_INVALID`],
    ["https://app.test/callback", `${internal} INVALID_ARGUMENT`],
    ["callback", `${internal} INVALID_ARGUMENT`],
  ])("the callback %s of a sign-in that this core did not begin is refused", async (address, expected) => {
    const request = toBinary(FinishSignInRequestSchema, create(FinishSignInRequestSchema, { address }))
    expect(await failure(core.call("IdentityService/FinishSignIn", request))).toBe(expected)
  })

  test.each([
    ["another origin", { url: "https://evil.test/", audience: "notes" }],
    ["the auth service's token elsewhere", { url: "https://notes.test/" }],
    ["plain http", { url: "http://notes.test/", audience: "notes" }],
    ["a header with another token", { audience: "notes", headers: [{ name: "Authorization", value: "x" }] }],
    ["an unknown method", { audience: "notes", method: "TRACE" }],
  ])("a request with %s is refused before a token is read", async (_, change) => {
    const whole = { url: "https://notes.test/", method: "GET", ...change }
    const call = (init: object) =>
      core.call("IdentityService/Fetch", toBinary(FetchRequestSchema, create(FetchRequestSchema, init)))
    expect(await failure(call(whole))).toBe(`${internal} INVALID_ARGUMENT`)
    // The same request without the fault gets as far as the token.
    expect(await failure(call({ url: "https://notes.test/", method: "GET", audience: "notes" }))).toBe(
      `${signet} NOT_SIGNED_IN`,
    )
  })
})

test.each<[string, (effect: Effect["effect"]) => Promise<EffectResult["result"]>, string]>([
  ["is no answer of this effect", async () => result({ case: "storageRead", value: {} }), `${host} HOST_REFUSED`],
  ["is nothing", async () => ({ case: undefined }), `${host} HOST_REFUSED`],
  ["is a rejection", () => Promise.reject(new Error("/home/ann/secret")), `${host} IO`],
  ["is a locked box", async () => result({ case: "failure", value: { kind: 4, box: 3 } }), `${secretBox} LOCKED`],
])("an answer of the host that %s is a typed failure", async (_, perform, expected) => {
  const core = await startCore({
    // The identity client reports its storage's failures by STORE_FAILED: only the call's own effect is disturbed.
    platform: { perform: async (effect) => (effect.case === "lockAcquire" ? perform(effect) : emptyEffects(effect)) },
  })
  expect(await failure(core.call("IdentityService/Login", login))).toBe(expected)
  await core.call("IdentityService/Ready", ready)
  await core.close()
})

test("a primitive that throws ends the core: its calls fail, and later ones find it closed", async () => {
  let isBroken = false
  const broken = {
    ...primitives(),
    [Primitive.UTF8_ENCODE]: (text: unknown) => {
      if (isBroken) throw new Error("no more")
      return new TextEncoder().encode(String(text))
    },
  }
  const core = await startCore({ platform: { primitives: broken } })
  const calls = [core.call("IdentityService/Ready", ready)]
  await Promise.all(calls)
  isBroken = true
  const waiting = core.call("IdentityService/Login", login)
  expect(await failure(waiting)).toBe(`${internal} INTERNAL`)
  expect(await failure(core.call("IdentityService/Ready", ready))).toBe(`${messaging} CLOSED`)
  const memory = core.memory()
  expect(Buffer.compare(memory, new Uint8Array(memory.length))).toBe(0)
})

test.runIf(isLong)("a core that exceeds its memory limit ends, at its start and later", async () => {
  expect(await failure(startCore({ memoryLimit: 2 * 1024 * 1024 }))).toBe(`${internal} INTERNAL`)
  const core = await startCore({ memoryLimit: 24 * 1024 * 1024 })
  const large = new Uint8Array(20 * 1024 * 1024)
  const error = await core.call("IdentityService/Login", large).then(() => expect.fail("no failure"), Object)
  expect(error.message).toMatch(/memory/)
  expect(await failure(core.call("IdentityService/Ready", ready))).toBe(`${messaging} CLOSED`)
})

test.runIf(isLong)("two cores of one module share nothing", async () => {
  const [one, other] = [await startCore(), await startCore()]
  await one.close()
  await other.call("IdentityService/Ready", ready)
  expect(other.memoryBytes).toBeGreaterThan(1_000_000)
  await other.close()
})
