// Records what a delivery service receives during a random history: the engine plays it, and everything that leaves a
// device is stored with the engine's own view of it.
import * as fc from "fast-check"
import type { GroupContext } from "ts-mls/groupContext.js"
import { opened } from "../../../clients/core/messaging/engine/state.ts"
import {
  type Engine,
  type GroupState,
  type Member,
  membersOf,
  type StagedCommit,
} from "../../../clients/core/messaging/mls.ts"
import { histories, play, type Step } from "../../../clients/core/messaging/testing/history.ts"
import { deviceOf, ourSeat, testEngine } from "../../../clients/core/messaging/testing/our-seat.ts"
import { openRoom } from "../../../clients/core/messaging/testing/seat.ts"
import { makeNodeSuite } from "../../../clients/node/crypto/suite.ts"

export const suite = makeNodeSuite()
export const utf8 = (text: string) => new TextEncoder().encode(text)

/** The public part of an epoch, as the committer's engine sees it. */
interface EpochView {
  readonly context: GroupContext
  readonly confirmationTag: Uint8Array
  readonly members: readonly Member[]
}

export interface RecordedCommit {
  readonly before: EpochView
  readonly after: EpochView
  readonly sender: number
  readonly keyPackages: readonly Uint8Array[]
  readonly removed: readonly number[]
  readonly staged: StagedCommit
  readonly tree: Uint8Array
}

export interface Recording {
  readonly commits: RecordedCommit[]
  readonly messages: { readonly message: Uint8Array; readonly epoch: EpochView }[]
  readonly keyPackages: { readonly keyPackage: Uint8Array; readonly reference: Uint8Array; readonly device: string }[]
}

const aad = utf8("an AAD frame")
export const proof = utf8("a membership proof")
export const binding = utf8("a conversation binding")
export const groupId = new Uint8Array(32).fill(7)

function viewOf(state: GroupState): EpochView {
  const { context, confirmationTag } = opened(state)
  return { context, confirmationTag, members: membersOf(state) }
}

/** An engine that records everything it creates. */
function recordingEngine(recording: Recording): Engine {
  const engine = testEngine(suite)
  async function kept(
    state: GroupState,
    commit: Promise<StagedCommit>,
    keyPackages: readonly Uint8Array[],
    removed: readonly number[],
  ) {
    const before = viewOf(state)
    const staged = await commit
    const sender = opened(state).ownLeaf
    const after = viewOf(staged.next)
    recording.commits.push({ before, after, sender, keyPackages, removed, staged, tree: staged.tree() })
    return staged
  }
  return {
    ...engine,
    createGroup: (group) => engine.createGroup({ ...group, binding }),
    async newKeyPackage(identity, lifetime) {
      const made = await engine.newKeyPackage(identity, lifetime)
      recording.keyPackages.push({ ...made, device: deviceOf(identity.credential) })
      return made
    },
    add: (state, packages, options) =>
      kept(state, engine.add(state, packages, { ...options, aad, proof }), packages, []),
    remove: (state, leaves, options) =>
      kept(state, engine.remove(state, leaves, { ...options, aad, proof }), [], leaves),
    update: (state, options) => kept(state, engine.update(state, { ...options, aad }), [], []),
    async encrypt(state, plaintext) {
      const encrypted = await engine.encrypt(state, plaintext, aad)
      recording.messages.push({ message: encrypted.message, epoch: viewOf(state) })
      return encrypted
    },
  }
}

const emptyRecording = (): Recording => ({ commits: [], messages: [], keyPackages: [] })

/** Steps that every recording contains. */
const always: readonly Step[] = [
  { kind: "add", by: 0, count: 2 },
  { kind: "say", by: 1 },
  { kind: "remove", by: 0, who: [0] },
  { kind: "add", by: 0, count: 1 },
  { kind: "update", by: 1 },
]

/** A random history, different in each run; a failure names its seed. */
export async function recordHistory(steps: number, members: number, seed: number): Promise<Recording> {
  const recording = emptyRecording()
  const [history = []] = fc.sample(histories({ min: steps, max: steps }), { numRuns: 1, seed })
  const engine = recordingEngine(recording)
  const room = await openRoom(await ourSeat(suite, "member-0", { engine }), groupId)
  await room.add("member-0", [await ourSeat(suite, "member-a", { engine })])
  await play(room, [...history, ...always], (n) => ourSeat(suite, `member-${n}`, { engine }), members + 2)
  return recording
}

/** A fixed history (only keys differ) with every kind of message: a group of three with one removal and one message. */
export async function recordSmall(): Promise<Recording> {
  const recording = emptyRecording()
  const engine = recordingEngine(recording)
  const seat = (name: string) => ourSeat(suite, name, { engine })
  const room = await openRoom(await seat("a"), groupId)
  await room.add("a", [await seat("b"), await seat("c"), await seat("d")])
  await room.update("b")
  await room.remove("a", ["c"])
  await room.add("b", [await seat("e")])
  await room.say("a", "something")
  return recording
}
