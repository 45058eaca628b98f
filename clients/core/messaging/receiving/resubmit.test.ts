import { create } from "@bufbuild/protobuf"
import { EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { expect, test } from "vitest"
import { keyOfSeq } from "../state/timeline.ts"
import { scripted } from "../testing/scripted.ts"
import { resubmitTail } from "./resubmit.ts"

/** A device that has read four envelopes, whose service answers a resubmission with these ends of the log, in order. */
async function resubmitting(heads: readonly bigint[], kept = [1n, 2n, 3n, 4n]) {
  const asked: bigint[] = []
  const { conversation, write } = await scripted({
    service: {
      listMessages: () => ({}),
      resubmitMessages({ envelopes }) {
        asked.push(envelopes[0]?.seq ?? 0n)
        return { headSeq: heads[asked.length - 1] ?? expect.unreachable("it is asked again") }
      },
    },
  })
  const ops = await Promise.all(
    kept.map((seq) => {
      const place = { space: conversation.id, table: "tail", key: keyOfSeq(seq) } as const
      return conversation.rows.put(place, EnvelopeSchema, create(EnvelopeSchema, { seq }))
    }),
  )
  await write({ tailCount: ops.length }, { ops })
  return { isReturned: await resubmitTail(conversation, 1n), asked }
}

test.each<[string, readonly bigint[], boolean, readonly bigint[]]>([
  ["in one part", [4n], true, [2n]],
  ["in several parts", [2n, 4n], true, [2n, 3n]],
  ["to a service that takes nothing", [1n], false, [2n]],
  ["to a service that stops", [3n, 3n], false, [2n, 4n]],
])("envelopes are returned %s", async (_, heads, isReturned, asked) => {
  expect(await resubmitting(heads)).toEqual({ isReturned, asked })
})

test("a device that no longer has the envelopes returns none", async () => {
  expect(await resubmitting([4n], [])).toEqual({ isReturned: false, asked: [] })
})
