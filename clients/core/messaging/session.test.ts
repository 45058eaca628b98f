import { expect, test } from "vitest"
import { idOf } from "./ids.ts"
import { boundDeviceIn, issuerIn, ownerOf } from "./session.ts"

const bytes = (value: number) => new Uint8Array(16).fill(value)
const session = {
  appId: idOf("app", bytes(1)),
  userId: idOf("prn", bytes(3)),
  accessToken: async () => "",
  renewToken: async () => "",
}

test("an owner has the tenant of the session, if the session has one", () => {
  const known = { appId: session.appId, userId: session.userId, app: bytes(1), user: bytes(3) }
  const tenantId = idOf("ten", bytes(2))
  expect(ownerOf({ ...session, tenantId })).toEqual({ ...known, tenantId, tenant: bytes(2) })
  expect(ownerOf({ ...session, tenantId: undefined })).toEqual({ ...known, tenantId: undefined, tenant: undefined })
  expect(() => ownerOf({ ...session, tenantId: session.appId })).toThrow(RangeError)
})

test.each(["", "no token", "e30.bnVsbA.", "e30.Nw.", "e30.eyJkaWQiOjd9."])(
  "the token %j names no device and no issuer",
  (token) => {
    expect([boundDeviceIn(token), issuerIn(token)]).toEqual([undefined, undefined])
  },
)
