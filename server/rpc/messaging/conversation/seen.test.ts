import { idOf } from "@signet/kernel/ids"
import { bytes, place } from "@signet/kernel/messaging/testing/records"
import { expect, test } from "vitest"
import { isAt } from "./seen.ts"

test("a place is an app and a tenant, or none", () => {
  const tenant = { ...place, tenantId: idOf("ten", bytes(2, 16)) }
  expect(isAt(place, place)).toBe(true)
  expect(isAt(tenant, tenant)).toBe(true)
  expect(isAt(tenant, place)).toBe(false)
  expect(isAt(place, tenant)).toBe(false)
  expect(isAt({ ...place, appId: idOf("app", bytes(2, 16)) }, place)).toBe(false)
})
