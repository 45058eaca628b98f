import type { TaggedClient } from "@signet/kernel/machine/ports"
import { expect, test } from "vitest"
import { createKnownClients } from "./known-clients.ts"

const tagged = (tag: string) => ({ tag }) as unknown as TaggedClient

test("a known client is found at its place only, until it is forgotten", () => {
  const known = createKnownClients()
  const place = { clientId: "svc_1", tenantId: null, contextId: null }
  known.remember(place, tagged("one"))
  known.remember({ ...place, clientId: "svc_2" }, tagged("two"))
  known.remember({ ...place, clientId: "svc_3" }, undefined)
  expect(known.find(place)).toEqual(tagged("one"))
  expect(known.find({ clientId: "svc_1" })).toEqual(tagged("one"))
  expect(known.find({ ...place, clientId: "svc_3" })).toBeUndefined()
  const elsewhere = { ...place, tenantId: "ten_1" as const }
  expect(known.find(elsewhere as never)).toBeUndefined()
  known.forget(place)
  expect(known.find(place)).toBeUndefined()
  expect(known.find({ ...place, clientId: "svc_2" })).toEqual(tagged("two"))
})

test("the ten-thousand-and-first known client evicts the oldest one only", () => {
  const known = createKnownClients()
  for (let i = 0; i <= 10_000; i++) known.remember({ clientId: `svc_${i}` }, tagged(`${i}`))
  expect([0, 1, 10_000].map((i) => known.find({ clientId: `svc_${i}` })?.tag)).toEqual([undefined, "1", "10000"])
})
