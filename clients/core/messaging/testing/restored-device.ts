// Restores a device of another process from its snapshot, tree and staged commit, applies the log and encrypts a message.
// node restored-device.ts: reads one JSON object, a `Found`, and writes another one, a `Done`.
import { text as readAll } from "node:stream/consumers"
import { fromBinary } from "@bufbuild/protobuf"
import { decode } from "@signet/canonical/canonical"
import { hash } from "@signet/canonical/hash"
import { StagedCommitSchema } from "@signet/proto/client/v1/records"
import { StateSnapshotV1Schema } from "@signet/proto/client/v1/state_snapshot"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { equal, hex, utf8 } from "../crypto/bytes.ts"
import { epochAuthenticator, uncheckedEngine } from "../mls.ts"
import { localGroupOf } from "../state/stored-conversation.ts"
import { deviceOf, text, today } from "./our-seat.ts"

/** All bytes in base64. */
export interface Found {
  readonly snapshot: string
  readonly tree: string
  /** StagedCommit; absent for none. */
  readonly staged?: string
  /** The identity key, which no snapshot contains. */
  readonly seed: string
  readonly log: readonly { readonly is: "commit" | "message"; readonly bytes: string }[]
}

export interface Done {
  readonly read: readonly string[]
  /** A message in the last epoch, in base64. */
  readonly said: string
  readonly authenticator: string
}

const bytes = (base64: string) => new Uint8Array(Buffer.from(base64, "base64"))

const found: Found = JSON.parse(await readAll(process.stdin))
const snapshot = decode(StateSnapshotV1Schema, bytes(found.snapshot))
const suite = makeNodeSuite()
const engine = uncheckedEngine({
  suite,
  nowSeconds: () => today,
  deviceOf,
  signerOf: (reference) =>
    equal(reference, snapshot.identityKeyHandle) ? (message) => suite.sign(bytes(found.seed), message) : undefined,
})
const staged = found.staged === undefined ? undefined : fromBinary(StagedCommitSchema, bytes(found.staged))
let { group } = await localGroupOf(engine, snapshot, bytes(found.tree))
const read: string[] = []
for (const one of found.log) {
  const envelope = bytes(one.bytes)
  if (one.is === "message") {
    const { plaintext, next, finish } = await engine.decrypt(group, envelope)
    read.push(text(plaintext))
    finish()
    group = next
  } else if (staged !== undefined && equal(hash("commit", envelope), staged.commitHash)) {
    group = await engine.decodeState({ epoch: staged.nextTree, secrets: staged.nextState }, staged.nextIdentityKey)
  } else {
    const processed = await engine.process(group, envelope, () => "accept")
    if (processed.kind === "removed") throw new Error("removed")
    processed.finish()
    group = processed.next
  }
}
const { message } = await engine.encrypt(group, utf8("from another process"), new Uint8Array())
const authenticator = hex(epochAuthenticator(group))
const done: Done = { read, said: Buffer.from(message).toString("base64"), authenticator }
process.stdout.write(JSON.stringify(done))
