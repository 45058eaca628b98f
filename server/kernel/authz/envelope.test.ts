import { describe, expect, test } from "vitest"
import type { Reason } from "../errors.ts"
import { newId } from "../ids.ts"
import { brokenChain, type Envelope, maxHops, misdelivery, type Place } from "./envelope.ts"

const now = 1_700_000_000
const random = (last: number) => new Uint8Array(10).fill(last)
const sender = {
  principalId: newId("prn", 1, random(1)),
  clientId: "svc-web",
  mailboxes: ["svc-notes/*"],
  ownedAudiences: ["svc-web"],
}
const first: Envelope = {
  id: "envelope-0",
  sender,
  mailbox: "svc-notes/inbox",
  contextToken: "token",
  scopes: ["notes.read", "notes.write"],
  causationId: "",
  correlationId: "work",
  digest: "digest-0",
  parentDigest: "",
  hop: 0,
  iat: now,
  exp: now + 600,
}
/** The next envelope of a chain: service n owns `svc-n` and posts to service n+1. */
function following(parent: Envelope, change: Partial<Envelope> = {}): Envelope {
  const hop = parent.hop + 1
  const own = parent.mailbox.split("/")[0] ?? ""
  return {
    ...parent,
    id: `envelope-${hop}`,
    sender: { ...sender, clientId: own, mailboxes: [`svc-${hop}/*`], ownedAudiences: [own] },
    mailbox: `svc-${hop}/inbox`,
    contextToken: "",
    causationId: parent.id,
    digest: `digest-${hop}`,
    parentDigest: parent.digest,
    hop,
    ...change,
  }
}
const place: Place = { mailbox: "svc-notes/inbox", senders: undefined, nowMs: now * 1_000 }

describe("an envelope", () => {
  test.each<[string, Partial<Envelope>, Partial<Place>, Reason | undefined]>([
    ["is accepted at its mailbox", {}, {}, undefined],
    ["is taken from whom the mailbox names", {}, { senders: ["svc-web"] }, undefined],
    ["is taken from a principal that it names", {}, { senders: [sender.principalId] }, undefined],
    ["is not taken from others", {}, { senders: ["svc-other"] }, "ENVELOPE_SENDER_NOT_ALLOWED"],
    [
      "is not taken where its sender may not post",
      { sender: { ...sender, mailboxes: ["svc-notes/other"] } },
      {},
      "ENVELOPE_SENDER_NOT_ALLOWED",
    ],
    ["is not taken in another mailbox", {}, { mailbox: "svc-notes/other" }, "ENVELOPE_MAILBOX_MISMATCH"],
    ["lives until it expires, and the skew of clocks", {}, { nowMs: (now + 629) * 1_000 }, undefined],
    ["is dead then", {}, { nowMs: (now + 630) * 1_000 }, "ENVELOPE_EXPIRED"],
    ["never lived when it expires before it was sealed", { exp: now }, {}, "ENVELOPE_EXPIRED"],
    ["may live for seven days", { exp: now + 604_800 }, {}, undefined],
    ["may not live longer", { exp: now + 604_801 }, {}, "ENVELOPE_TOO_LONG_LIVED"],
    ["may come early by the skew of clocks", {}, { nowMs: (now - 30) * 1_000 }, undefined],
    ["may not come earlier", {}, { nowMs: (now - 31) * 1_000 }, "ENVELOPE_NOT_YET_VALID"],
  ])("%s", (_, change, at, expected) => {
    expect(misdelivery({ ...first, ...change }, { ...place, ...at })).toBe(expected)
  })
})

describe("a chain", () => {
  const second = following(first)

  test.each<[string, Partial<Envelope>, Reason | undefined]>([
    ["may narrow", { scopes: ["notes.read"] }, undefined],
    ["may carry nothing", { scopes: [] }, undefined],
    ["may not widen", { scopes: ["notes.read", "mail.send"] }, "ENVELOPE_SCOPES_WIDENED"],
    ["has the digest of the one before", { parentDigest: "another" }, "ENVELOPE_CHAIN_BROKEN"],
    ["has its id", { causationId: "another" }, "ENVELOPE_CHAIN_BROKEN"],
    ["has what all have in common", { correlationId: "another" }, "ENVELOPE_CHAIN_BROKEN"],
    ["has no context of its own", { contextToken: "token" }, "ENVELOPE_CHAIN_BROKEN"],
    ["does not outlive the one before", { exp: now + 601 }, "ENVELOPE_CHAIN_BROKEN"],
    ["may come before it by the skew of clocks", { iat: now - 30 }, undefined],
    ["does not come before it", { iat: now - 31 }, "ENVELOPE_CHAIN_BROKEN"],
    ["counts its hops", { hop: 2 }, "ENVELOPE_CHAIN_BROKEN"],
    [
      "goes on with the one that it was posted to",
      { sender: { ...sender, ownedAudiences: ["svc-web"] } },
      "ENVELOPE_NOT_FORWARDERS",
    ],
  ])("%s", (_, change, expected) => {
    expect(brokenChain([first, { ...second, ...change }])).toBe(expected)
  })

  test("is invalid from a hop that its sender was not allowed to post", () => {
    const posted = { ...first, sender: { ...sender, mailboxes: [] } }
    expect(brokenChain([posted, following(posted)])).toBe("ENVELOPE_SENDER_NOT_ALLOWED")
    const nowhere = { ...first, mailbox: "nowhere" }
    expect(brokenChain([nowhere, following(nowhere)])).toBe("ENVELOPE_SENDER_NOT_ALLOWED")
  })

  test("begins with an envelope without a parent and with an allowed lifetime", () => {
    expect(brokenChain([second])).toBe("ENVELOPE_CHAIN_BROKEN")
    expect(brokenChain([{ ...first, parentDigest: "x" }])).toBe("ENVELOPE_CHAIN_BROKEN")
    expect(brokenChain([{ ...first, exp: now + 604_800 }])).toBeUndefined()
    expect(brokenChain([{ ...first, exp: now + 604_801 }])).toBe("ENVELOPE_TOO_LONG_LIVED")
  })

  test("cannot skip a hop that narrowed its scopes", () => {
    const narrow = following(first, { scopes: [] })
    const third = following(narrow)
    expect(brokenChain([first, narrow, third])).toBeUndefined()
    const cut = { ...third, hop: 1, parentDigest: first.digest, causationId: first.id, scopes: first.scopes }
    expect(brokenChain([first, cut])).toBe("ENVELOPE_NOT_FORWARDERS")
  })

  test("has at most 16 hops", () => {
    const chain = [first]
    for (let hop = 1; hop <= maxHops; hop++) chain.push(following(chain.at(-1) ?? first))
    expect(brokenChain(chain)).toBeUndefined()
    expect(brokenChain([...chain, following(chain.at(-1) ?? first)])).toBe("ENVELOPE_HOP_LIMIT")
  })
})
