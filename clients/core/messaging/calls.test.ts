import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { expect, test } from "vitest"
import { testClock } from "../testing/memory-platform.ts"
import { makeCalls } from "./calls.ts"

/** A service that refuses the tokens of `stale`, and a session that numbers its tokens. */
function worldOf(stale: RegExp, reason = "DEVICE_REQUIRED") {
  const clock = testClock()
  const presented: string[] = []
  const renewed: string[] = []
  let token = "token 1"
  const { devices } = makeCalls({
    ...{ clock, device: () => undefined, random: { bytes: (length) => new Uint8Array(length) } },
    transport: createRouterTransport(({ service }) =>
      service(DeviceService, {
        getIssuerKeys(_, { requestHeader }) {
          const given = requestHeader.get("authorization")?.replace("Bearer ", "") ?? ""
          presented.push(given)
          if (!stale.test(given)) return {}
          const error = new ConnectError("refused", Code.Unauthenticated)
          error.details.push({ desc: ErrorInfoSchema, value: { reason, domain: "signet" } })
          throw error
        },
      }),
    ),
    session: {
      accessToken: async () => token,
      async renewToken() {
        renewed.push(token)
        await Promise.resolve()
        token = `token ${Number(token.slice(6)) + 1}`
        return token
      },
    },
  })
  return { clock, presented, renewed, call: () => devices.getIssuerKeys({}), renew: (next: string) => (token = next) }
}

test.each(["DEVICE_REQUIRED", "TOKEN_EXPIRED"])(
  "a call that is refused for %s is sent again with a new token",
  async (reason) => {
    const { call, presented } = worldOf(/ 1$/, reason)
    await call()
    expect(presented).toEqual(["token 1", "token 2"])
  },
)

test("a call that another token would not change is not sent again", async () => {
  const { call, presented } = worldOf(/./, "MISSING_SCOPE")
  await expect(call()).rejects.toThrow("refused")
  expect(presented).toEqual(["token 1"])
})

test("a token that was renewed during a call is used", async () => {
  const { call, presented, renewed, renew } = worldOf(/ 1$/)
  const calling = call()
  renew("token 9")
  await calling
  expect(presented).toEqual(["token 1", "token 9"])
  expect(renewed).toEqual([])
})

test("a service that refuses every token causes one renewal in five seconds, and no wait after a change", async () => {
  const { call, clock, renewed, renew } = worldOf(/ [1-5]$/)
  for (let i = 0; i < 3; i++) await expect(call()).rejects.toThrow("refused")
  expect(renewed).toEqual(["token 1"])
  await clock.pass(5_001)
  await expect(call()).rejects.toThrow("refused")
  expect(renewed).toEqual(["token 1", "token 2"])
  // For example after the registration of the device.
  renew("token 5")
  await call()
  expect(renewed).toEqual(["token 1", "token 2", "token 5"])
})
