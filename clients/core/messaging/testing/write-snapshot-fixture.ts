// Writes the fixtures of the current format. Fixtures of released formats must never be written again.
// npx node clients/core/messaging/testing/write-snapshot-fixture.ts
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { create } from "@bufbuild/protobuf"
import { StagedCommitSchema } from "@signet/proto/client/v1/records"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { utf8 } from "../crypto/bytes.ts"
import { idOf } from "../ids.ts"
import { encodeEpoch, type GroupState, uncheckedEngine } from "../mls.ts"
import { encodeSnapshot } from "../state/snapshot.ts"
import { currentFormat } from "../state/snapshot-migrations.ts"
import { snapshotOf, treeHashOf } from "../state/stored-conversation.ts"
import { deviceOf, lifetime, newIdentity, today } from "./our-seat.ts"

const suite = makeNodeSuite()
const engine = uncheckedEngine({ suite, nowSeconds: () => today, deviceOf })
const folder = join(import.meta.dirname, "snapshots")

/** The state of a group's second member, and a message from the first. */
async function group(count: number): Promise<{ state: GroupState; key: Uint8Array; message: Uint8Array }> {
  const founder = await newIdentity(suite, "founder")
  const alone = await engine.createGroup({ groupId: new Uint8Array(32).fill(5), identity: founder, ...lifetime })
  const identities = await Promise.all(Array.from({ length: count - 1 }, (_, i) => newIdentity(suite, `member ${i}`)))
  const packages = await Promise.all(identities.map((identity) => engine.newKeyPackage(identity, lifetime)))
  const made = packages.map(({ keyPackage }) => keyPackage)
  const { next, welcome, tree } = await engine.add(alone, made, { aad: new Uint8Array() })
  const [own] = packages
  const [identity] = identities
  if (own === undefined || identity === undefined || welcome === undefined) throw new Error("a group of two at least")
  const joined = await engine.join({ ...own, welcome, tree: tree(), identityKey: identity.key })
  const { message } = await engine.encrypt(next, utf8("the next message"), new Uint8Array())
  return { state: joined.state, key: identity.signatureKey, message }
}

async function write(name: string, count: number, isFull: boolean): Promise<void> {
  const { state, key, message } = await group(count)
  const local = {
    group: state,
    processedSeq: 7n,
    receipt: { hash: new Uint8Array(32).fill(8), acceptedAtMs: 1_700_000_000_000n },
    leafRenewedAt: 1_700_000_000,
    identityKey: key,
    treeHash: treeHashOf({ group: state }),
  }
  const staged = isFull ? create(StagedCommitSchema, { commitHash: new Uint8Array(32).fill(9) }) : undefined
  const snapshot = snapshotOf(idOf("cnv", new Uint8Array(16).fill(5)), 3n, local, staged)
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")
  const fixture = {
    snapshot: base64(encodeSnapshot(snapshot)),
    tree: base64(encodeEpoch(state)),
    nextMessage: base64(message),
    plaintext: "the next message",
  }
  writeFileSync(join(folder, `v${currentFormat}-${name}.json`), `${JSON.stringify(fixture, null, 2)}\n`)
}

mkdirSync(folder, { recursive: true })
await write("small", 3, false)
await write("full", 50, true)
