// Compares the contents of a snapshot with the engine's state, and restores a device from one in another process.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { text as readAll } from "node:stream/consumers"
import { create, toBinary } from "@bufbuild/protobuf"
import { decode } from "@signet/canonical/canonical"
import { hash } from "@signet/canonical/hash"
import { type StagedCommit, StagedCommitSchema } from "@signet/proto/client/v1/records"
import { StateSnapshotV1Schema } from "@signet/proto/client/v1/state_snapshot"
import { createProposal } from "ts-mls/createMessage.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import type { Proposal } from "ts-mls/proposal.js"
import { expect, test } from "vitest"
import { isLong, sample } from "../../../../test/support/effort.ts"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { utf8 } from "../crypto/bytes.ts"
import { opened } from "../engine/state.ts"
import { idOf } from "../ids.ts"
import { acceptCommit, encodeEpoch, encodeSecrets, type StagedCommit as Staged } from "../mls.ts"
import { bareSeat, bareSuite } from "../testing/bare-seat.ts"
import { contains, refusal } from "../testing/cast.ts"
import { forgeCommit } from "../testing/forge.ts"
import { type OurSeat, ourSeat, today } from "../testing/our-seat.ts"
import type { Done, Found } from "../testing/restored-device.ts"
import { openRoom } from "../testing/seat.ts"
import { encodeSnapshot } from "./snapshot.ts"
import { localGroupOf, snapshotOf, treeHashOf } from "./stored-conversation.ts"

const suite = makeNodeSuite()
const aad = new Uint8Array()
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")
const conversationId = idOf("cnv", new Uint8Array(16).fill(5))

const groupId = new Uint8Array(32).fill(6)

/** A group of our engine. Its first member created it, and added the others in one commit. */
async function groupOf<Name extends string>(...names: Name[]): Promise<Record<Name, OurSeat>> {
  const seats = await Promise.all(names.map((name) => ourSeat(suite, name)))
  const [founder, ...others] = seats
  if (founder === undefined) throw new Error("nobody")
  const room = await openRoom(founder, groupId)
  await room.add(founder.name, others)
  return Object.fromEntries(seats.map((local) => [local.name, local])) as Record<Name, OurSeat>
}

/** The stored form of an own commit that the service has not accepted yet. */
function stored({ identity }: OurSeat, { commit, next }: Staged): StagedCommit {
  return create(StagedCommitSchema, {
    commit,
    commitHash: hash("commit", commit),
    nextTree: encodeEpoch(next),
    nextState: encodeSecrets(next),
    nextIdentityKey: identity.signatureKey,
  })
}

function snapshotBytes(of: OurSeat, staged?: StagedCommit): Uint8Array {
  const group = of.current()
  const local = {
    group,
    processedSeq: 7n,
    receipt: { hash: new Uint8Array(32).fill(8), acceptedAtMs: 1_700_000_000_000n },
    leafRenewedAt: today,
    identityKey: of.identity.signatureKey,
    treeHash: treeHashOf({ group }),
  }
  return encodeSnapshot(snapshotOf(conversationId, 3n, local, staged))
}

/** Restores the device from its stored data in another process. */
async function elsewhere(of: OurSeat, log: Found["log"], staged?: StagedCommit): Promise<Done> {
  const found: Found = {
    snapshot: base64(snapshotBytes(of, staged)),
    tree: base64(encodeEpoch(of.current())),
    seed: base64(of.identity.key),
    log,
    ...(staged && { staged: base64(toBinary(StagedCommitSchema, staged)) }),
  }
  const program = join(import.meta.dirname, "../testing/restored-device.ts")
  const child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] })
  child.stdin.end(JSON.stringify(found))
  const [said, [code]] = await Promise.all([readAll(child.stdout), once(child, "exit")])
  expect(code).toBe(0)
  return JSON.parse(said)
}
const commit = (bytes: Uint8Array) => ({ is: "commit", bytes: base64(bytes) }) as const
const message = (bytes: Uint8Array) => ({ is: "message", bytes: base64(bytes) }) as const

test("a snapshot has every field of the specification, with the engine's values", async () => {
  const { A: a, B: b } = await groupOf("A", "B", "C", "D")
  const update = await a.engine.update(a.current(), { aad })
  a.state = acceptCommit(a.current(), update)
  await b.process(update.commit)
  await a.encrypt("skipped")
  await b.decrypt(await a.encrypt("read"))
  const staged = stored(b, await b.engine.update(b.current(), { aad }))
  const bytes = snapshotBytes(b, staged)
  const snapshot = decode(StateSnapshotV1Schema, bytes)
  const state = opened(b.current())
  expect(snapshot).toMatchObject({
    cipherSuite: 1,
    mlsGroupId: state.context.groupId,
    epoch: state.context.epoch,
    ownLeaf: state.ownLeaf,
    treeHash: hash("tree-blob", encodeEpoch(b.current())),
    identityKeyHandle: b.identity.signatureKey,
    stagedCommit: staged.commitHash,
  })
  const restored = opened((await localGroupOf(b.engine, snapshot, encodeEpoch(b.current()))).group)
  // Transcript hash and extensions are in the context; message ratchets are in the secret tree.
  const { identityKey: _, ...held } = state
  expect(restored).toEqual({ ...held, identityKey: b.identity.signatureKey })
  expect(state.context.confirmedTranscriptHash).toHaveLength(32)
  expect(state.privateKeys.size).toBeGreaterThan(1)
  expect(state.secretTree.ratchets.size).toBeGreaterThan(0)
  expect(contains(bytes, b.identity.key)).toBe(false)
})

test.runIf(isLong)(
  "a staged own update is stored, and another process applies it, or the commit that was accepted instead",
  async () => {
    for (const isFirst of [true, false]) {
      const { A: a, B: b } = await groupOf("A", "B", "C")
      const made = await b.engine.update(b.current(), { aad })
      const staged = stored(b, made)
      const others = isFirst ? undefined : await a.update()
      if (isFirst) await a.process(made.commit)
      const log = [commit(others?.commit ?? made.commit), message(await a.encrypt("after it"))]
      const { read, said, authenticator } = await elsewhere(b, log, staged)
      expect({ read, authenticator }).toEqual({ read: ["after it"], authenticator: a.authenticator() })
      expect(await a.decrypt(new Uint8Array(Buffer.from(said, "base64")))).toMatchObject({ sender: "B" })
    }
  },
)

test.each<"add" | "remove">(sample(1, ["add", "remove"]))(
  "a staged own %s is applied by another process",
  async (does) => {
    const { A: a, B: b } = await groupOf("A", "B", "C")
    const newcomer = await ourSeat(suite, "D")
    const made =
      does === "add"
        ? await b.engine.add(b.current(), [await newcomer.keyPackage()], { aad })
        : await b.engine.remove(b.current(), [b.leafOf("C")], { aad })
    await a.process(made.commit)
    const log = [commit(made.commit), message(await a.encrypt("after it"))]
    const { read, authenticator } = await elsewhere(b, log, stored(b, made))
    expect({ read, authenticator }).toEqual({ read: ["after it"], authenticator: a.authenticator() })
  },
)

const removal: Proposal = { proposalType: "remove", remove: { removed: 2 } }
const psk = (external: boolean): Proposal => {
  const pskNonce = new Uint8Array(32)
  const preSharedKeyId = external
    ? ({ psktype: "external", pskId: utf8("psk"), pskNonce } as const)
    : ({ psktype: "resumption", usage: "application", pskGroupId: groupId, pskEpoch: 0n, pskNonce } as const)
  return { proposalType: "psk", psk: { preSharedKeyId } }
}

test.runIf(isLong)(
  "a proposal outside a commit is refused and not stored, and the next commit is applied",
  async () => {
    const bare = await bareSeat("A")
    const [b, c] = [await ourSeat(suite, "B"), await ourSeat(suite, "C")]
    const room = await openRoom(bare, groupId)
    await room.add("A", [b, c])
    const before = snapshotBytes(b)
    if (bare.state === undefined) throw new Error("no state")
    for (const proposal of [removal, psk(true)]) {
      const made = await createProposal(bare.state, true, proposal, await bareSuite())
      const reason = await refusal(b.engine.process(b.current(), encodeMlsMessage(made.message), () => "accept"))
      expect(reason).toMatch(/^MLS_/)
      expect(snapshotBytes(b)).toEqual(before)
    }
    const { commit: removed } = await bare.remove(["C"])
    const log = [commit(removed), message(await bare.encrypt("after it"))]
    const { read, authenticator } = await elsewhere(b, log)
    expect({ read, authenticator }).toEqual({ read: ["after it"], authenticator: bare.authenticator() })
  },
)

test.each([
  ["an external", true],
  ["a resumption", false],
])("a commit with %s pre-shared key is refused, and no snapshot has one", async (_, external) => {
  const { A: a, B: b } = await groupOf("A", "B")
  const before = snapshotBytes(b)
  const forged = await forgeCommit(suite, a.current(), { proposals: [psk(external)] })
  expect(await refusal(b.engine.process(b.current(), forged, () => "accept"))).toBe("MLS_BAD_PROPOSALS")
  expect(snapshotBytes(b)).toEqual(before)
  expect(decode(StateSnapshotV1Schema, before)).toMatchObject({
    externalPsks: [],
    resumptionPsks: [],
    cachedUpdates: [],
  })
})
