import { describe, expect, test } from "vitest"
import { newId } from "../ids.ts"
import { planEnvelopeKey, postable } from "./envelope-key.ts"
import type { EnvelopeKey } from "./records.ts"

const random = (last: number) => new Uint8Array(10).fill(last)
const key: EnvelopeKey = {
  kid: "kid-0",
  serviceAccountId: newId("sac", 1, random(1)),
  x: "x",
  y: "y",
  mailboxes: ["svc-notes/*", "svc-mail/out"],
  createdAtMs: 1,
  revokedAtMs: null,
}
const four = [0, 1, 2, 3].map((i) => ({ ...key, kid: `kid-${i}` }))
const other = newId("sac", 1, random(2))

describe("an envelope key", () => {
  test.each<[string, readonly EnvelopeKey[], EnvelopeKey | undefined, string]>([
    ["is added", [key], undefined, "add"],
    ["is the fourth at most", four, undefined, "limit"],
    ["is added when another has ended", [...four.slice(1), { ...key, revokedAtMs: 2 }], undefined, "add"],
    ["is there", four, key, "there"],
    ["is there with its mailboxes in another order", [key], { ...key, mailboxes: key.mailboxes.toReversed() }, "there"],
    ["is not given other mailboxes", [key], { ...key, mailboxes: ["svc-notes/*"] }, "taken"],
    [
      "is not given as many other mailboxes",
      [key],
      { ...key, mailboxes: key.mailboxes.map((one) => `${one}x`) },
      "taken",
    ],
    ["is nobody else's", [], { ...key, serviceAccountId: other }, "taken"],
    ["is ended for ever", [], { ...key, revokedAtMs: 2 }, "revoked"],
  ])("%s", (_, own, known, expected) => {
    expect(planEnvelopeKey({ own, known }, key)).toBe(expected)
  })
})

test("a service may post to its own and its allowed audiences, never to the issuer", () => {
  const account = { ownedAudiences: ["svc-web"], allowedAudiences: ["svc-notes", "auth"] }
  const patterns = ["svc-web/*", "svc-notes/inbox", "svc-mail/*", "auth/*", "svc-notes", "*", ""]
  expect(postable(account, patterns, "auth")).toEqual(["svc-web/*", "svc-notes/inbox"])
})
