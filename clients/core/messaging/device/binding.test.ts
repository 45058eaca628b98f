import { expect, test } from "vitest"
import type { Context } from "../context.ts"
import { keepBound } from "./binding.ts"

const tokenOf = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.`

test.each<[string, object, string | undefined, number]>([
  ["of this device keeps it", { did: "dev_a" }, "dev_a", 0],
  ["of another device registers this one", { did: "dev_b" }, "dev_a", 1],
  ["of a new sign-in registers this device", {}, "dev_a", 1],
  ["of a new sign-in registers a device that has no id yet", {}, undefined, 1],
])("a token %s", async (_, claims, id, expected) => {
  let registered = 0
  const device = { id, register: async () => void registered++ }
  const session = { accessToken: async () => tokenOf(claims) }
  // Only the fields that the binding of a session needs.
  await keepBound({ device, session, issuer: { refresh: async () => undefined } } as unknown as Context)
  expect(registered).toBe(expected)
})
