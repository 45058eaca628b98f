import { encodeMlsMessage } from "ts-mls/message.js"
import { beforeAll, describe, expect, test } from "vitest"
import { equal, hex } from "../../clients/core/messaging/crypto/bytes.ts"
import { decodeTree, encodeTree } from "../../clients/core/messaging/engine/tree-bytes.ts"
import { decoded } from "../../clients/core/messaging/testing/bare-seat.ts"
import { effort, isLong } from "../../test/support/effort.ts"
import { numbers, seed } from "../../test/support/random.ts"
import { refusal, refusalWithPlace } from "./testing/bent.ts"
import { type Sample, samples } from "./testing/samples.ts"

let all: Sample[]
beforeAll(async () => {
  all = await samples()
})

const runs = effort(2_000, 40_000, 1_000_000)

/**
 * Applies one to four changes that decoders often handle wrongly: bytes, lengths, and moved, repeated or removed
 * pieces.
 */
function mutated(bytes: Uint8Array, other: Uint8Array, random: (below: number) => number): Uint8Array {
  let now = bytes
  for (let n = random(4); n >= 0; n--) {
    const at = random(now.length)
    const to = Math.min(now.length, at + random(200))
    const piece = random(2) === 0 ? now.subarray(at, to) : other.subarray(random(other.length)).subarray(0, random(200))
    const changed = Uint8Array.from(now)
    switch (random(6)) {
      case 0:
        changed[at] = random(256)
        break
      case 1:
        changed[at] = (changed[at] ?? 0) ^ (1 << random(8))
        break
      case 2:
        // Lengths: minimal, too long an encoding, and enormous values.
        changed.set(
          [0x40, 0x80, 0xbf, 0xc0, 0xff].map((byte) => (random(2) === 0 ? byte : 0xff)).slice(0, now.length - at),
          at,
        )
        break
      case 3:
        now = Uint8Array.from([...now.subarray(0, at), ...piece, ...now.subarray(at)])
        continue
      case 4:
        now = Uint8Array.from([...now.subarray(0, at), ...now.subarray(to)])
        continue
      default:
        changed.set(piece.subarray(0, now.length - at), at)
    }
    now = changed
  }
  return now
}

/** True if ts-mls decodes it and re-encodes the same bytes. */
function theyRead(sample: Sample, bytes: Uint8Array): boolean {
  try {
    const again = sample.name === "a tree" ? encodeTree(decodeTree(bytes)) : encodeMlsMessage(decoded(bytes))
    return equal(again, bytes)
  } catch {
    return false
  }
}

// Fields decided by the grammar alone: if refused here as malformed, no other decoder accepts them.
const grammar =
  /^(wire_format|content_type|sender_type|proposal_or_ref_type|leaf_node_source|path|node|group_id|epoch|authenticated_data|(credential|capabilities|lifetime)\..*)$/

describe(`with seed ${seed}`, () => {
  test("both decoders accept the same mutated messages, except for the stricter rules here", () => {
    const random = numbers(seed)
    let taken = 0
    for (let run = 0; run < runs; run++) {
      const sample = all[random(all.length)]
      const other = all[random(all.length)]
      if (sample === undefined || other === undefined) continue
      const bytes = mutated(sample.bytes, other.bytes, random)
      const [code, what] = refusalWithPlace(() => sample.parse(bytes)).split(/ (.*)/)
      const disagree = () => expect.fail(`run ${run}: ${sample.name}, ${code} ${what}: ${hex(bytes)}`)
      const readable = theyRead(sample, bytes)
      if (code === "read") taken++
      if (code === "read" && !readable) disagree()
      if (code === "MLS_NON_CANONICAL" && readable) disagree()
      if (code === "MLS_MALFORMED" && readable && grammar.test(what ?? "")) disagree()
    }
    expect(taken).toBeGreaterThan(runs / 100)
  })

  test.runIf(isLong)("random bytes are refused with a reason", () => {
    const random = numbers(seed + 1)
    for (let run = 0; run < runs; run++) {
      const bytes = Uint8Array.from({ length: random(300) }, () => random(256))
      // Half of them begin like a message.
      if (random(2) === 0) bytes.set([0, 1, 0, 1 + random(5)].slice(0, bytes.length))
      for (const { parse } of all) expect(refusal(() => parse(bytes))).not.toBe("read")
    }
  })
})
