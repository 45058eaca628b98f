import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { effort } from "../../../test/support/effort.ts"
import { type AuditLink, type Head, nextLink, origin } from "./chain.ts"
import { buildCheckpoint, inOrder, merkleProof, merkleRoot, rootOf } from "./checkpoint.ts"
import type { AuditCrypto } from "./crypto.ts"
import type { AuditEvent } from "./event.ts"
import { type AuditRow, auditChainOf, hex, sealRow } from "./row.ts"
import { type Linked, verifyChains } from "./verify-chains.ts"
import { verifyCheckpoints } from "./verify-checkpoints.ts"

const hmac = (key: string, text: string) => new Uint8Array(createHmac("sha256", key).update(text).digest())
const current = { keyId: "current", until: null }
const retired = { keyId: "retired", until: { checkpoint: 2n, hash: "" } }

const seals: AuditCrypto = {
  digest: (text) => new Uint8Array(createHash("sha256").update(text).digest()),
  stamp: (text) => hmac("current", text),
  stampedBy: (text, stamp) => [current, retired].find(({ keyId }) => timingSafeEqual(hmac(keyId, text), stamp)),
  stampKeys: () => [current, retired],
  equal: (a, b) => a.length === b.length && timingSafeEqual(a, b),
  newDataKey: () => ({ key: new Uint8Array(32), sealed: new Uint8Array(1) }),
  openDataKey: () => new Uint8Array(32),
  seal: (_, __, text) => new TextEncoder().encode(text),
  open: (_, __, sealed) => new TextDecoder().decode(sealed),
}

const eventOf = (i: number, tenantId: string | null): AuditEvent => ({
  id: `aud_${i}` as never,
  occurredAtMs: i,
  kind: "grant.created",
  outcome: "SUCCESS",
  reason: null,
  appId: "app_1" as never,
  tenantId: tenantId as never,
  contextId: null,
  actorPrincipalId: null,
  subjectPrincipalId: null,
  subjectIdentityId: null,
  sessionId: null,
  target: null,
  request: { id: `r${i}`, route: "", ipTruncated: i % 2 === 0 ? "192.0.2.0/24" : null },
})

/** Chains of these lengths, in verification order. */
function chainsOf(lengths: readonly number[]): Linked[] {
  return lengths.flatMap((length, chain) => {
    let head: Head = origin(`ten_${chain}`)
    return Array.from({ length }, (_, i): Linked => {
      const row = sealRow(eventOf(chain * 100 + i, `ten_${chain}`), { owner: "prn_1", key: new Uint8Array(32) }, seals)
      const link = nextLink(seals, head, row, i)
      head = link
      return { link, row }
    })
  })
}

async function* streamOf<T>(all: readonly T[]): AsyncGenerator<T> {
  yield* all
}

const verify = (links: readonly Linked[]) =>
  verifyChains(seals, streamOf(links), { unstampedUntil: null, starts: new Map(), stampEnds: new Map() })

const lengths = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 4 })
const someText = fc.string({ minLength: 1, maxLength: 5, unit: fc.constantFrom("x", "y", "z") })
const changedRow: fc.Arbitrary<(row: AuditRow) => AuditRow> = fc.oneof(
  fc.constant((row: AuditRow): AuditRow => ({ ...row, outcome: "DENIED" })),
  fc.constant((row: AuditRow): AuditRow => ({ ...row, occurredAtMs: row.occurredAtMs + 1 })),
  fc.constant((row: AuditRow): AuditRow => ({ ...row, personalSealed: new Uint8Array([1]) })),
  fc.constant((row: AuditRow): AuditRow => ({ ...row, stamp: null })),
  someText.map(
    (id) =>
      (row: AuditRow): AuditRow => ({ ...row, target: { type: "t", id } }),
  ),
  someText.map(
    (owner) =>
      (row: AuditRow): AuditRow => ({ ...row, keyOwner: owner }),
  ),
  someText.map(
    (route) =>
      (row: AuditRow): AuditRow => ({ ...row, request: { ...row.request, route } }),
  ),
)
const changedLink: fc.Arbitrary<(link: AuditLink) => AuditLink> = fc.oneof(
  fc.constant((link: AuditLink): AuditLink => ({ ...link, linkedAtMs: link.linkedAtMs + 1 })),
  fc.constant((link: AuditLink): AuditLink => ({ ...link, hash: link.eventHash })),
  fc.constant((link: AuditLink): AuditLink => ({ ...link, eventHash: link.hash })),
  someText.map(
    (eventId) =>
      (link: AuditLink): AuditLink => ({ ...link, eventId }),
  ),
)

describe("any change at one position of valid chains", () => {
  const places = fc.record({ lengths, at: fc.nat() })
  const check = async (change: (links: Linked[], at: number) => Linked[], where: { lengths: number[]; at: number }) => {
    const links = chainsOf(where.lengths)
    expect((await verify(links)).flaws).toEqual([])
    const at = where.at % links.length
    const { link } = links[at] ?? expect.fail()
    const { flaws } = await verify(change([...links], at))
    return { flaws, link, isLast: links[at + 1]?.link.shard !== link.shard }
  }

  test("a changed or missing row is reported at its position", () =>
    fc.assert(
      fc.asyncProperty(places, fc.option(changedRow), async (where, change) => {
        const replaced = (links: Linked[], at: number) =>
          links.map((one, i) => (i === at ? { ...one, row: one.row && (change?.(one.row) ?? null) } : one))
        const { flaws, link } = await check(replaced, where)
        const what = change === null ? "EVENT_MISSING" : "EVENT_CHANGED"
        expect(flaws).toMatchObject([{ what, shard: link.shard, seq: link.seq }])
      }),
      { numRuns: effort(60, 1_000, 10_000) },
    ))

  test("a changed link is reported at its position", () =>
    fc.assert(
      fc.asyncProperty(places, changedLink, async (where, change) => {
        const replaced = (links: Linked[], at: number) =>
          links.map((one, i) => (i === at ? { ...one, link: change(one.link) } : one))
        const { flaws, link } = await check(replaced, where)
        expect(flaws).toMatchObject([{ what: "LINK_CHANGED", shard: link.shard, seq: link.seq }])
      }),
      { numRuns: effort(60, 1_000, 10_000) },
    ))

  test("a missing link is reported, except the last one, which checkpoints detect", () =>
    fc.assert(
      fc.asyncProperty(places, async (where) => {
        const { flaws, link, isLast } = await check((links, at) => links.toSpliced(at, 1), where)
        if (isLast) expect(flaws).toEqual([])
        else expect(flaws).toMatchObject([{ what: "LINK_MISSING", shard: link.shard, seq: link.seq }])
      }),
      { numRuns: effort(60, 1_000, 10_000) },
    ))

  test("two swapped links are reported at the first position", () =>
    fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: 8 }), fc.nat(), fc.nat(), async (length, a, b) => {
        const [first = 0, second = 0] = [a % length, b % length].toSorted((x, y) => x - y)
        fc.pre(first !== second)
        const links = chainsOf([length])
        const swapped = links.map((one, i): Linked => {
          const other = links[i === first ? second : i === second ? first : i] ?? one
          return { ...other, link: { ...other.link, seq: one.link.seq } }
        })
        const { flaws } = await verify(swapped)
        expect(flaws).toMatchObject([{ what: "LINK_REORDERED", seq: BigInt(first + 1) }])
      }),
      { numRuns: effort(60, 1_000, 10_000) },
    ))
})

test("an event belongs to the chain of its tenant, else its app, else the installation", () => {
  const appId = "app_1" as never
  expect(auditChainOf({ appId, tenantId: "ten_1" as never })).toBe("ten_1")
  expect(auditChainOf({ appId, tenantId: null })).toBe("app_1")
  expect(auditChainOf({ appId: null, tenantId: null })).toBe("-")
})

test("a Merkle proof verifies its own head and no other", () => {
  for (const count of [1, 2, 3, 4, 5, 8, 13]) {
    const heads = inOrder(
      Array.from({ length: count }, (_, i): Head => ({ shard: `ten_${i}`, seq: 7n, hash: seals.digest(`${i}`) })),
    )
    const root = hex(merkleRoot(seals, heads))
    for (const [i, head] of heads.entries()) {
      const proof = merkleProof(seals, heads, i)
      expect(hex(rootOf(seals, head, proof))).toBe(root)
      expect(hex(rootOf(seals, { ...head, seq: 8n }, proof))).not.toBe(root)
    }
  }
})

test("a checkpoint with other heads, number, predecessor or no stamp is reported", async () => {
  const head = { shard: "ten_1", seq: 3n, hash: seals.digest("head") }
  const checkpointOf = (number: bigint, jws: string) => ({ number, createdAtMs: 0, jws, stamp: seals.stamp(jws) })
  const first = buildCheckpoint(seals, { iss: "i", nowMs: 0, last: undefined, heads: [head] })
  const one = checkpointOf(1n, JSON.stringify(first))
  const second = buildCheckpoint(seals, { iss: "i", nowMs: 0, last: one, heads: [] })
  const two = checkpointOf(2n, JSON.stringify(second))
  const verifyAll = async (all: readonly { checkpoint: typeof one; heads: readonly Head[] }[]) => {
    const checked = all.map(({ checkpoint, heads }) => ({
      checkpoint,
      heads: heads.map((each) => ({ head: each, linkHash: each.hash })),
    }))
    const chains = { ends: new Map([[head.shard, head]]), checkpoints: new Map() }
    const of = { chains, starts: new Map(), kept: new Map(), open: (jws: string) => JSON.parse(jws) }
    return (await verifyCheckpoints(seals, streamOf(checked), of)).flaws.map((one) => `${one.what} ${one.checkpoint}`)
  }
  const whole = { checkpoint: one, heads: [head] }
  expect(await verifyAll([whole, { checkpoint: two, heads: [] }])).toEqual([])
  expect(await verifyAll([{ ...whole, heads: [{ ...head, seq: 2n }] }])).toEqual(["CHECKPOINT_CHANGED 1"])
  expect(await verifyAll([{ ...whole, heads: [] }])).toEqual(["CHECKPOINT_CHANGED 1"])
  expect(await verifyAll([whole, { checkpoint: { ...one, number: 2n }, heads: [head] }])).toEqual([
    "CHECKPOINT_CHANGED 2",
  ])
  expect(await verifyAll([{ checkpoint: two, heads: [] }])).toEqual(["CHECKPOINT_MISSING 1"])
  expect(await verifyAll([{ ...whole, checkpoint: { ...one, stamp: seals.digest("") } }])).toEqual([
    "CHECKPOINT_CHANGED 1",
  ])
  const other = checkpointOf(2n, JSON.stringify({ ...second, prev: hex(seals.digest("another")) }))
  expect(await verifyAll([whole, { checkpoint: other, heads: [] }])).toEqual(["CHECKPOINT_CHANGED 2"])
})

test("stamps of a retired key are valid up to its last checkpoint, by position in each chain", async () => {
  const old: AuditCrypto = { ...seals, stamp: (text) => hmac("retired", text) }
  let head: Head = origin("ten_1")
  const links = Array.from({ length: 3 }, (_, i): Linked => {
    const row = sealRow(eventOf(i, "ten_1"), null, old)
    const link = nextLink(old, head, row, i)
    head = link
    return { link, row }
  })
  const flawsWith = async (ends: [string, bigint][]) => {
    const stampEnds = new Map([[2n, new Map(ends)]])
    const { flaws } = await verifyChains(seals, streamOf(links), { unstampedUntil: null, starts: new Map(), stampEnds })
    return flaws.map(({ what, seq }) => [what, seq])
  }
  expect(await flawsWith([["ten_1", 3n]])).toEqual([])
  expect(await flawsWith([["ten_1", 2n]])).toEqual([["EVENT_FORGED", 3n]])
  // The chain had no link at that checkpoint.
  expect(await flawsWith([["ten_2", 3n]])).toHaveLength(3)
})
