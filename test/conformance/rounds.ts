// Rounds of a race: all devices commit at one epoch, and all learn which commit was accepted.
import assert from "node:assert/strict"
import { equalBytes } from "@signet/canonical/bytes"
import { CommitConflictSchema } from "@signet/proto/messaging/v1/conflict"
import type { TestDevice } from "../support/messaging/device.ts"
import { tagOf } from "../support/messaging/room.ts"
import { refuses, there } from "./scene.ts"

/**
 * Sends this many commits at the current epoch: exactly one is accepted, the others get it, and all devices apply it.
 */
export async function commitRound(id: string, devices: readonly TestDevice[], commits: number): Promise<void> {
  const by = Array.from({ length: commits }, (_, i) => there(devices[i % devices.length]))
  const staged = []
  for (const device of by) staged.push(await device.stageUpdate(device.room(id)))
  const before = there(staged[0]).room
  const { epoch, seq } = before
  const outcomes = await Promise.allSettled(staged.map((one, i) => there(by[i]).append(one)))
  const won = outcomes.flatMap((outcome, i) => (outcome.status === "fulfilled" ? [{ ...outcome.value, i }] : []))
  assert.equal(won.length, 1, `${won.length} of ${commits} commits won`)
  const winner = there(won[0])
  assert.deepEqual([winner.seq, winner.epoch], [seq + 1n, epoch + 1n])
  const commit = there(staged[winner.i]).request.payload.value.commit
  for (const outcome of outcomes) {
    if (outcome.status === "fulfilled") continue
    const { error } = await refuses("COMMIT_CONFLICT", Promise.reject(outcome.reason))
    const told = there(error.findDetails(CommitConflictSchema)[0], "CommitConflict")
    assert.equal(told.winningSeq, winner.seq)
    assert(equalBytes(there(told.envelope).message, commit), "the reported winner is another commit")
  }
  const states = new Set<string>()
  for (const device of devices) states.add(tagOf(await device.sync(device.room(id))))
  assert.equal(states.size, 1)
}
