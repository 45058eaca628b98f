// A handler that the guard has wrongly admitted a caller to gets no caller.
import { createContextValues, type HandlerContext } from "@connectrpc/connect"
import { kAuth } from "@signet/guard/connect"
import type { AuthContext } from "@signet/kernel/authz/context"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { expect, test } from "vitest"
import { callerOf, userOf } from "./call.ts"
import { deviceOf } from "./calling-device.ts"

const of = (auth?: object): HandlerContext => {
  const values = createContextValues()
  if (auth !== undefined) values.set(kAuth, auth as AuthContext)
  return { values, method: AuthService.method.me } as unknown as HandlerContext
}
const user = { identityId: "idn_1", principal: { kind: "USER" } }

test.each<[string, () => unknown]>([
  ["nobody as a caller", () => callerOf(of())],
  ["nobody as a user", () => userOf(of())],
  ["a user without an identity", () => userOf(of({ ...user, identityId: null }))],
  ["a service as a user", () => userOf(of({ ...user, principal: { kind: "SERVICE" } }))],
  ["nobody as a device", () => deviceOf(of(user))],
])("%s is a fault", (_, read) => {
  expect(read).toThrow(expect.objectContaining({ reason: "INTERNAL" }))
})

test("userOf returns the calling user", () => expect(userOf(of(user))).toMatchObject(user))
