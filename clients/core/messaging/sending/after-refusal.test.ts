import { create } from "@bufbuild/protobuf"
import { StagedCommitSchema } from "@signet/proto/client/v1/records"
import { expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import type { FailureReason } from "../../errors.ts"
import { refusedAs, scripted } from "../testing/scripted.ts"
import { afterRefusal } from "./after-refusal.ts"

const { bytes32 } = world

/** A conversation whose service is in this epoch, and counts the requested rejoins. */
async function inEpoch(epoch: bigint) {
  const called: string[] = []
  const opened = await scripted({
    service: {
      listMessages: () => ({ headSeq: 4n }),
      getConversation: () => ({ conversation: { epoch, headSeq: 4n } }),
      requestRejoin() {
        called.push("rejoin")
        return {}
      },
    },
  })
  return { ...opened, called }
}
const message = { kind: "message", drop: expect.unreachable, carryOutDirectives: expect.unreachable } as const
const commit = (commitHash?: Uint8Array) => ({ kind: "commit", commitHash }) as const

test("after a refusal for a future epoch, an attempt waits unless the service has lost the epoch", async () => {
  const refusal = refusedAs("FUTURE_EPOCH")
  const same = await inEpoch(1n)
  await same.write()
  await afterRefusal(same.conversation, message, refusal, 1)
  expect([same.waits.length, same.called]).toEqual([1, []])
  const lost = await inEpoch(0n)
  await lost.write()
  await afterRefusal(lost.conversation, message, refusal, 1)
  expect([lost.waits, lost.called]).toEqual([[], ["rejoin"]])
})

test("after a refusal for a passed epoch, the next attempt does not wait", async () => {
  const { conversation, write, waits } = await inEpoch(1n)
  await write()
  await afterRefusal(conversation, message, refusedAs("STALE_EPOCH"), 1)
  expect(waits).toEqual([])
})

test.each<[string, Uint8Array | undefined, boolean]>([
  ["is dropped", bytes32(3), false],
  ["that another tab has staged since is kept", bytes32(4), true],
  ["is kept if the refused attempt sent none", undefined, true],
])("a staged commit %s", async (_, sent, isKept) => {
  const { conversation, write } = await inEpoch(1n)
  await write({}, { staged: create(StagedCommitSchema, { commitHash: bytes32(3) }) })
  await afterRefusal(conversation, commit(sent), refusedAs("STALE_EPOCH"), 1)
  expect((await conversation.stored()).staged !== undefined).toBe(isKept)
})

test.each<[string, FailureReason, string, boolean, boolean]>([
  ["of a former key", "MLS_MALFORMED", "MLS_BAD_SIGNATURE", true, true],
  ["of the present key", "MLS_MALFORMED", "MLS_BAD_SIGNATURE", false, false],
  ["of a former key, with another refusal", "MLS_MALFORMED", "MLS_WRONG_TREE", true, false],
])(
  "a leaf %s is refused: the device rejoins only if it has a newer key",
  async (_, reason, code, isFormer, rejoins) => {
    const { conversation, write, local, called } = await inEpoch(1n)
    const identityKey = isFormer ? bytes32(5) : local.identityKey
    await write({}, { local: { ...local, identityKey } })
    const settled = afterRefusal(conversation, commit(), refusedAs(reason, { code }), 1)
    await (rejoins ? settled : expect(settled).rejects.toMatchObject({ message: expect.stringContaining(reason) }))
    expect(called).toEqual(rejoins ? ["rejoin"] : [])
  },
)
