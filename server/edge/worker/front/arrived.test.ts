import { expect, test } from "vitest"
import { kCall } from "../../../serving/call/call.ts"
import { arrivedOf } from "./arrived.ts"

const callWith = (headers: Record<string, string>) =>
  arrivedOf(new Request("https://messaging.example/", { headers })).values.get(kCall)
const claimed = { "x-forwarded-for": "198.51.100.9", "x-real-ip": "198.51.100.9", forwarded: "for=198.51.100.9" }

test("a request's address is the platform's, whatever other headers claim", () => {
  const call = callWith({ ...claimed, "cf-connecting-ip": "192.0.2.7" })
  expect(call).toMatchObject({ ipTruncated: "192.0.2.0/24", network: "192.0.2.7" })
})

test("a request has no address without the platform's", () => {
  expect(callWith(claimed)).toMatchObject({ ipTruncated: null, network: null })
})
