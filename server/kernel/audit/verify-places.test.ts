import { createHash, createHmac } from "node:crypto"
import { describe, expect, test } from "vitest"
import { type Head, linkHash, nextLink, origin } from "./chain.ts"
import { buildCheckpoint, type CheckpointClaims, inOrder } from "./checkpoint.ts"
import type { AuditCrypto } from "./crypto.ts"
import type { AuditEvent } from "./event.ts"
import { maxFlaws } from "./flaw.ts"
import { type AuditRow, sealRow } from "./row.ts"
import { type Linked, type Verifying, verifyChains, verifyWaiting } from "./verify-chains.ts"
import { type CheckedCheckpoint, verifyCheckpoints } from "./verify-checkpoints.ts"

const bytesOf = (buffer: Buffer) => new Uint8Array(buffer)
const equal = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0
const keys = [
  { keyId: "current", until: null },
  { keyId: "retired", until: { checkpoint: 2n, hash: "" } },
]
const stampWith = (keyId: string) => (text: string) => bytesOf(createHmac("sha256", keyId).update(text).digest())
const seals: Verifying & Pick<AuditCrypto, "stamp"> = {
  digest: (text) => bytesOf(createHash("sha256").update(text).digest()),
  stamp: stampWith("current"),
  stampedBy: (text, stamp) => keys.find(({ keyId }) => equal(stampWith(keyId)(text), stamp)),
  equal,
}

function rowOf(id: number, over: Partial<AuditEvent> = {}, stamp: ((text: string) => Uint8Array) | null = seals.stamp) {
  const event: AuditEvent = {
    id: `aud_${id}` as never,
    occurredAtMs: id,
    kind: "grant.created",
    outcome: "SUCCESS",
    reason: null,
    appId: "app_1" as never,
    tenantId: "ten_1" as never,
    contextId: null,
    actorPrincipalId: null,
    subjectPrincipalId: null,
    subjectIdentityId: null,
    sessionId: null,
    target: null,
    request: { id: "", route: "", ipTruncated: null },
    ...over,
  }
  const row: AuditRow = sealRow(event, null, { ...seals, stamp: stamp ?? seals.stamp } as AuditCrypto)
  return stamp === null ? { ...row, stamp: null } : row
}

/** A valid chain with these rows. */
function chainOf(rows: readonly AuditRow[], shard = "ten_1", after: Head = origin(shard)): Linked[] {
  let head = after
  return rows.map((row): Linked => {
    const link = nextLink(seals, head, row, 7)
    head = link
    return { link, row }
  })
}

async function* streamOf<T>(all: readonly T[]): AsyncGenerator<T> {
  yield* all
}

const untouched = { unstampedUntil: null, starts: new Map<string, Head>(), stampEnds: new Map() }
const verify = (links: readonly Linked[], options: Partial<Parameters<typeof verifyChains>[2]> = {}) =>
  verifyChains(seals, streamOf(links), { ...untouched, ...options })
const namesOf = (flaws: readonly { what: string; shard: string | null; seq: bigint | null }[]) =>
  flaws.map(({ what, shard, seq }) => `${what} ${shard} ${seq}`)

describe("a chain", () => {
  test("of a tenant rejects another tenant's event even if validly linked and stamped", async () => {
    const links = chainOf([rowOf(1), rowOf(2, { tenantId: "ten_2" as never }), rowOf(3)])
    expect(namesOf((await verify(links)).flaws)).toEqual(["LINK_REORDERED ten_1 2"])
  })

  test("rejects an event under another event's id", async () => {
    const head = origin("ten_1")
    const row = rowOf(1)
    const { linkedAtMs, eventHash } = nextLink(seals, head, row, 7)
    const named = { eventId: "aud_9", eventHash, linkedAtMs }
    const link = { ...named, shard: head.shard, seq: 1n, hash: linkHash(seals, head, named) }
    expect(namesOf((await verify([{ link, row }])).flaws)).toEqual(["EVENT_CHANGED ten_1 1"])
  })

  test("continues from the start where its older links were dropped, and from no other", async () => {
    const links = chainOf([1, 2, 3, 4].map((id) => rowOf(id)))
    const start = links[1]?.link ?? expect.fail()
    const later = links.slice(2)
    expect(await verify(later, { starts: new Map([["ten_1", start]]) })).toMatchObject({ flaws: [], links: 2 })
    expect(namesOf((await verify(later)).flaws)).toEqual(["LINK_MISSING ten_1 1"])
    const elsewhere = { ...start, hash: seals.digest("another past") }
    const { flaws } = await verify(later, { starts: new Map([["ten_1", elsewhere]]) })
    expect(namesOf(flaws)).toEqual(["LINK_CHANGED ten_1 3"])
  })

  test("with a flaw does not affect the chain after it", async () => {
    const first = chainOf([rowOf(1), rowOf(2)])
    const second = chainOf(
      [3, 4].map((id) => rowOf(id, { tenantId: "ten_2" as never })),
      "ten_2",
    )
    const { flaws, ends } = await verify([...first.slice(1), ...second.slice(1)])
    expect(namesOf(flaws)).toEqual(["LINK_MISSING ten_1 1", "LINK_MISSING ten_2 1"])
    expect(ends.size).toBe(0)
  })

  test("with swapped sequence numbers is distinguished from one with a gap", async () => {
    const [one, two, three] = chainOf([1, 2, 3].map((id) => rowOf(id)))
    if (!one || !two || !three) return expect.fail()
    const moved = [one, { ...three, link: { ...three.link, seq: 2n } }, { ...two, link: { ...two.link, seq: 3n } }]
    expect(namesOf((await verify(moved)).flaws)).toEqual(["LINK_REORDERED ten_1 2"])
    // The first link's number is wrong, too.
    const skipped = [one, { ...three, link: { ...three.link, seq: 4n } }, { ...two, link: { ...two.link, seq: 5n } }]
    expect(namesOf((await verify(skipped)).flaws)).toEqual(["LINK_REORDERED ten_1 2"])
    const renumbered = [one, { ...two, link: { ...two.link, seq: 3n } }]
    expect(namesOf((await verify(renumbered)).flaws)).toEqual(["LINK_MISSING ten_1 2"])
  })

  test("with two swapped events and unchanged hashes is reordered", async () => {
    const [one, two, three] = chainOf([1, 2, 3].map((id) => rowOf(id)))
    if (!one || !two || !three) return expect.fail()
    const ofEvent = ({ link: { eventId, eventHash, linkedAtMs } }: Linked) => ({ eventId, eventHash, linkedAtMs })
    const swapped = (at: number) => [
      one,
      { row: three.row, link: { ...two.link, ...ofEvent(three), linkedAtMs: at } },
      { row: two.row, link: { ...three.link, ...ofEvent(two) } },
    ]
    expect(namesOf((await verify(swapped(7))).flaws)).toEqual(["LINK_REORDERED ten_1 2"])
    expect(namesOf((await verify(swapped(8))).flaws)).toEqual(["LINK_REORDERED ten_1 2"])
    const atTheirTimes = chainOf([rowOf(1), rowOf(2), rowOf(3)])
    const [, b, c] = atTheirTimes
    if (!b || !c) return expect.fail()
    // The event moved; its link's time did not.
    const later = { row: b.row, link: { ...c.link, ...ofEvent(b), linkedAtMs: 9 } }
    const moved = [one, { row: c.row, link: { ...b.link, ...ofEvent(c) } }, later]
    expect(namesOf((await verify(moved)).flaws)).toEqual(["LINK_REORDERED ten_1 2"])
  })

  test("reports a limited number of flaws and is read to its end", async () => {
    const links = chainOf(Array.from({ length: maxFlaws + 5 }, (_, i) => rowOf(i))).map(({ link }) => ({
      link,
      row: null,
    }))
    const { flaws, links: read } = await verify(links)
    expect(flaws).toHaveLength(maxFlaws)
    expect(read).toBe(maxFlaws + 5)
  })

  test("yields its checkpoint and rotation events only", async () => {
    const target = (id: string) => ({ type: "t", id })
    const links = chainOf([
      rowOf(1, { kind: "audit.checkpoint", target: target("1:abc") }),
      rowOf(2, { kind: "sealing_key.retired", target: target("sk_1") }),
      rowOf(3, { kind: "audit.checkpoint", target: target("x:abc") }),
      rowOf(4, { kind: "audit.checkpoint" }),
      rowOf(5, { target: target("9:abc") }),
    ])
    const { checkpoints, retired, flaws, unstamped } = await verify(links)
    expect(flaws).toEqual([])
    expect(unstamped).toBe(0)
    expect([...checkpoints]).toEqual([[1n, "abc"]])
    expect([...retired]).toEqual([["sk_1", "aud_2"]])
  })

  test("ignores checkpoint and rotation events that differ from their link", async () => {
    const links = chainOf([
      rowOf(1, { kind: "audit.checkpoint", target: { type: "t", id: "1:abc" } }, () => seals.digest("forged")),
      rowOf(2, { kind: "sealing_key.retired", target: { type: "t", id: "sk_1" } }, () => seals.digest("forged")),
    ])
    const { checkpoints, retired, flaws } = await verify(links)
    expect(namesOf(flaws)).toEqual(["EVENT_FORGED ten_1 1", "EVENT_FORGED ten_1 2"])
    expect([checkpoints.size, retired.size]).toEqual([0, 0])
  })

  test("may contain unstamped events before the first checkpoint only", async () => {
    const links = chainOf([1, 2, 3].map((id) => rowOf(id, {}, null)))
    expect(await verify(links)).toMatchObject({ flaws: [], unstamped: 3 })
    const until = (shard: string) => ({ unstampedUntil: new Map([[shard, 2n]]) })
    const after = await verify(links, until("ten_1"))
    expect(namesOf(after.flaws)).toEqual(["EVENT_UNSTAMPED ten_1 3"])
    // The first checkpoint did not contain the chain.
    expect((await verify(links, until("ten_2"))).flaws).toHaveLength(3)
  })

  test("rejects a retired key's stamps without the checkpoint that retired it", async () => {
    const links = chainOf([rowOf(1, {}, stampWith("retired"))])
    expect(namesOf((await verify(links)).flaws)).toEqual(["EVENT_FORGED ten_1 1"])
  })
})

describe("an unlinked event", () => {
  const judge = async (row: AuditRow, isAfterCheckpoint = false, patienceMs = 10) => {
    const unstampedUntil = isAfterCheckpoint ? new Map<string, bigint>() : null
    const { flaws, waiting } = await verifyWaiting(seals, streamOf([row]), { nowMs: 110, patienceMs, unstampedUntil })
    return [...flaws.map(({ what, eventId }) => `${what} ${eventId}`), waiting]
  }

  test("may stay unlinked for the allowed time", async () => {
    expect(await judge(rowOf(101))).toEqual([1])
    expect(await judge(rowOf(101), true)).toEqual([1])
    expect(await judge(rowOf(100))).toEqual(["EVENT_UNLINKED aud_100", 0])
  })

  test("may lack a stamp before the first checkpoint only", async () => {
    expect(await judge(rowOf(5, {}, null))).toEqual([1])
    expect(await judge(rowOf(105, {}, null), true)).toEqual(["EVENT_UNSTAMPED aud_105", 0])
  })

  test("needs the service's stamp: a forged one and a retired key's are rejected", async () => {
    expect(await judge(rowOf(105, {}, () => seals.digest("forged")))).toEqual(["EVENT_FORGED aud_105", 0])
    expect(await judge(rowOf(105, {}, stampWith("retired")))).toEqual(["EVENT_FORGED aud_105", 0])
  })

  test("is reported up to the limit of flaws", async () => {
    const rows = Array.from({ length: maxFlaws + 5 }, (_, i) => rowOf(i))
    const of = { nowMs: 1_000, patienceMs: 10, unstampedUntil: null }
    const { flaws, waiting } = await verifyWaiting(seals, streamOf(rows), of)
    expect([flaws.length, waiting]).toEqual([maxFlaws, 0])
  })
})

describe("a checkpoint", () => {
  const headOf = (shard: string, seq = 3n): Head => ({ shard, seq, hash: seals.digest(shard) })
  const made = (
    number: bigint,
    over: Partial<CheckpointClaims> = {},
    { stamp = seals.stamp, heads = [headOf("ten_1")] }: { stamp?: typeof seals.stamp; heads?: readonly Head[] } = {},
  ): CheckedCheckpoint => {
    const claims = buildCheckpoint(seals, { iss: "i", nowMs: 5_000, last: undefined, heads })
    const jws = JSON.stringify({ ...claims, number: Number(number), ...over })
    const checkpoint = { number, createdAtMs: 5_999, jws, stamp: stamp(jws) }
    return { checkpoint, heads: heads.map((head) => ({ head, linkHash: head.hash })) }
  }
  const following = (last: CheckedCheckpoint, options: Parameters<typeof made>[2] = {}) => {
    const prev = Buffer.from(seals.digest(last.checkpoint.jws)).toString("hex")
    return made(last.checkpoint.number + 1n, { prev }, options)
  }
  const judge = async (
    all: readonly CheckedCheckpoint[],
    over: Partial<Parameters<typeof verifyCheckpoints>[2]> = {},
  ) => {
    const { flaws } = await verifyCheckpoints(seals, streamOf(all), {
      chains: { ends: new Map([["ten_1", headOf("ten_1")]]), checkpoints: new Map() },
      starts: new Map(),
      kept: new Map(),
      open: (jws) => JSON.parse(jws),
      ...over,
    })
    return flaws.map(({ what, checkpoint, shard }) => `${what} ${checkpoint}${shard === null ? "" : ` ${shard}`}`)
  }
  const one = made(1n)

  test("is valid alone and with a successor", async () => {
    expect(await judge([one, following(one)])).toEqual([])
  })

  test.each<[string, CheckedCheckpoint]>([
    ["number is another than was signed", made(1n, { number: 2 })],
    ["time is another than was signed", made(1n, { iat: 6 })],
    ["count of heads is another than was signed", made(1n, { heads: 2 })],
    ["predecessor is named although there is none", made(1n, { prev: "abc" })],
  ])("is changed when its %s", async (_, checkpoint) => {
    expect(await judge([checkpoint])).toEqual(["CHECKPOINT_CHANGED 1"])
  })

  test("is changed if no key of the service signed it, whatever its stamp", async () => {
    expect(await judge([one], { open: () => undefined })).toEqual(["CHECKPOINT_CHANGED 1"])
  })

  test("is changed if an event or a copy stored elsewhere differs", async () => {
    const hash = Buffer.from(seals.digest(one.checkpoint.jws)).toString("hex")
    const told = (text: string) => ({ chains: { ends: new Map(), checkpoints: new Map([[1n, text]]) } })
    expect(await judge([one], told(hash))).toEqual([])
    expect(await judge([one], told("abc"))).toEqual(["CHECKPOINT_CHANGED 1"])
    expect(await judge([one], { kept: new Map([[1n, one.checkpoint.jws]]) })).toEqual([])
    expect(await judge([one], { kept: new Map([[1n, "another"]]) })).toEqual(["CHECKPOINT_CHANGED 1"])
  })

  test("is missing if an event, a copy stored elsewhere or a later checkpoint implies it", async () => {
    const over = {
      chains: { ends: new Map(), checkpoints: new Map([[9n, "abc"]]) },
      kept: new Map([
        [12n, ""],
        [8n, ""],
      ]),
    }
    expect(await judge([one], over)).toEqual(["CHECKPOINT_MISSING 8", "CHECKPOINT_MISSING 9", "CHECKPOINT_MISSING 12"])
    expect(await judge([one, made(4n)])).toEqual(["CHECKPOINT_MISSING 2", "CHECKPOINT_MISSING 3"])
  })

  test("with an arbitrary number reports a limited number of missing ones", async () => {
    expect(await judge([made(1n << 62n)])).toHaveLength(maxFlaws)
    expect(await judge([made(BigInt(maxFlaws + 5), { number: 1 })])).toHaveLength(maxFlaws)
  })

  test("may have a retired key's stamp only before the checkpoint that retired it", async () => {
    const stamp = stampWith("retired")
    const old = made(1n, {}, { stamp })
    expect(await judge([old, following(old)])).toEqual([])
    expect(await judge([one, following(one, { stamp })])).toEqual(["CHECKPOINT_CHANGED 2"])
  })

  test("detects a truncated, a missing and a rewritten chain", async () => {
    const heads = inOrder([headOf("ten_3"), headOf("ten_1"), headOf("ten_2")])
    const { checkpoint } = made(1n, {}, { heads })
    const linkHashes = [null, null, seals.digest("another past")]
    const checked = heads.map((head, i) => ({ head, linkHash: linkHashes[i] ?? null }))
    expect(await judge([{ checkpoint, heads: checked }])).toEqual([
      "TAIL_CUT 1 ten_1",
      "CHAIN_MISSING 1 ten_2",
      "CHAIN_REWRITTEN 1 ten_3",
    ])
    // The order in which heads are read does not affect the signature.
    expect(await judge([{ checkpoint, heads: checked.toReversed() }])).toHaveLength(3)
  })

  test("needs the links after the start of a chain, and none before it", async () => {
    const gone = { ...one, heads: one.heads.map(({ head }) => ({ head, linkHash: null })) }
    const startAt = (seq: bigint, shard = "ten_1") => ({ starts: new Map([[shard, headOf(shard, seq)]]) })
    expect(await judge([gone], startAt(3n))).toEqual([])
    expect(await judge([gone], startAt(2n))).toEqual(["TAIL_CUT 1 ten_1"])
    expect(await judge([gone], startAt(3n, "ten_2"))).toEqual(["TAIL_CUT 1 ten_1"])
  })
})
