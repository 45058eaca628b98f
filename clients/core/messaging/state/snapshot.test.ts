import { readFileSync } from "node:fs"
import { join } from "node:path"
import { clone, create } from "@bufbuild/protobuf"
import { decode, encode } from "@signet/canonical/canonical"
import {
  CachedUpdateV1Schema,
  PskV1Schema,
  ResumptionPskV1Schema,
  SealedStateV1Schema,
  type StateSnapshotV1,
  StateSnapshotV1Schema,
} from "@signet/proto/client/v1/state_snapshot"
import { expect, test } from "vitest"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { SecretBoxError } from "../../secret-box.ts"
import { MessagingError } from "../errors.ts"
import { idOf } from "../ids.ts"
import { uncheckedEngine } from "../mls.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import { deviceOf } from "../testing/our-seat.ts"
import { testBox } from "../testing/test-box.ts"
import { encodeSnapshot, openSnapshot, type SnapshotPlace, sealSnapshot } from "./snapshot.ts"
import { currentFormat, migrate } from "./snapshot-migrations.ts"
import { localGroupOf } from "./stored-conversation.ts"

interface Fixture {
  readonly snapshot: string
  readonly tree: string
  readonly nextMessage: string
  readonly plaintext: string
}
/** Fixtures of every released version, from testing/write-snapshot-fixture.ts. */
const fixtures: Record<number, Fixture[]> = {
  1: ["v1-small.json", "v1-full.json"].map(readFixture),
  2: ["v2-small.json", "v2-full.json"].map(readFixture),
}
const versions = Object.entries(fixtures).flatMap(([version, all]) => all.map((fixture) => ({ ...fixture, version })))

function readFixture(name: string): Fixture {
  return JSON.parse(readFileSync(join(import.meta.dirname, "../testing/snapshots", name), "utf8"))
}
const bytes = (text: string) => new Uint8Array(Buffer.from(text, "base64"))

const id = (kind: "app" | "ten" | "prn" | "dev" | "cnv", byte: number) => idOf(kind, new Uint8Array(16).fill(byte))
const place: SnapshotPlace = {
  tenantId: id("ten", 1),
  appId: id("app", 2),
  userId: id("prn", 3),
  deviceId: id("dev", 4),
  conversationId: id("cnv", 5),
}
const scope = { app: "app", user: "user" }
const rows = sealedRows(testBox(), scope)
const box = testBox()
await box.createKey(scope)
const sealed = sealedRows(box, scope)
const newest = fixtures[currentFormat] ?? []
const small = decode(StateSnapshotV1Schema, bytes(newest[0]?.snapshot ?? ""))
const { generation } = small

test.each(versions)("a snapshot of version $version is encoded to the same bytes", ({ snapshot }) => {
  expect(encodeSnapshot(decode(StateSnapshotV1Schema, bytes(snapshot)))).toEqual(bytes(snapshot))
})

test.each(versions)(
  "a snapshot of version $version restores a group that decrypts its next message",
  async (fixture) => {
    const engine = uncheckedEngine({ suite: makeNodeSuite(), nowSeconds: () => 0, deviceOf })
    const current = migrate(Number(fixture.version), bytes(fixture.snapshot))
    expect(decode(StateSnapshotV1Schema, current).formatVersion).toBe(currentFormat)
    const local = await localGroupOf(engine, decode(StateSnapshotV1Schema, current), bytes(fixture.tree))
    const { plaintext } = await engine.decrypt(local.group, bytes(fixture.nextMessage))
    expect(new TextDecoder().decode(plaintext)).toBe(fixture.plaintext)
  },
)

const secret = new Uint8Array(32).fill(1)
test.each<[string, (snapshot: StateSnapshotV1) => unknown]>([
  ["an external pre-shared key", ({ externalPsks }) => externalPsks.push(create(PskV1Schema, { id: secret, secret }))],
  [
    "a resumption pre-shared key",
    ({ resumptionPsks }) => resumptionPsks.push(create(ResumptionPskV1Schema, { epoch: 1n, secret })),
  ],
  [
    "an own proposal",
    ({ cachedUpdates }) =>
      cachedUpdates.push(create(CachedUpdateV1Schema, { proposalRef: secret, leafPrivateKey: secret })),
  ],
])("a snapshot with %s is refused, because the engine would drop it", async (_, put) => {
  const other = clone(StateSnapshotV1Schema, small)
  put(other)
  const at = await sealSnapshot(sealed, place, other)
  await expect(openSnapshot(sealed, place, generation, at)).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
})

test("a sealed snapshot opens for its own device and conversation", async () => {
  const at = await sealSnapshot(sealed, place, small)
  expect(await openSnapshot(sealed, place, generation, at)).toEqual({ snapshot: small, bindsRecord: true })
})

test("a snapshot of the first version opens, and binds no record", async () => {
  const first = decode(StateSnapshotV1Schema, bytes(fixtures[1]?.[0]?.snapshot ?? ""))
  const at = await sealSnapshot(sealed, place, first)
  const opened = await openSnapshot(sealed, place, first.generation, at)
  expect(opened).toEqual({ snapshot: { ...first, formatVersion: 2 }, bindsRecord: false })
})

test.each<[string, Partial<SnapshotPlace>]>([
  ["tenant", { tenantId: id("ten", 9) }],
  ["absent tenant", { tenantId: undefined }],
  ["app", { appId: id("app", 9) }],
  ["user", { userId: id("prn", 9) }],
  ["device", { deviceId: id("dev", 9) }],
  ["conversation", { conversationId: id("cnv", 9) }],
])("a snapshot of another %s does not open", async (_, change) => {
  const at = await sealSnapshot(sealed, place, small)
  await expect(openSnapshot(sealed, { ...place, ...change }, generation, at)).rejects.toThrow(SecretBoxError)
})

test("a snapshot of another generation does not open, with any generation in its envelope", async () => {
  const at = await sealSnapshot(sealed, place, small)
  const refused = { name: "MessagingError", reason: "STATE_TAMPERED" }
  await expect(openSnapshot(sealed, place, generation + 1n, at)).rejects.toMatchObject(refused)
  const envelope = decode(SealedStateV1Schema, at)
  const claimed = encode(SealedStateV1Schema, create(SealedStateV1Schema, { ...envelope, generation: generation + 1n }))
  await expect(openSnapshot(sealed, place, generation + 1n, claimed)).rejects.toThrow(SecretBoxError)
})

test("a state whose inner and outer generations differ is refused", async () => {
  const later = generation + 1n
  const { tenantId, appId, userId, deviceId, conversationId } = place
  const purpose = `state-snapshot/v2 ${tenantId} ${appId} ${userId} ${deviceId} ${conversationId} ${later}`
  const inside = await sealed.seal(purpose, encodeSnapshot(small))
  const envelope = { formatVersion: currentFormat, generation: later, sealed: inside }
  const at = encode(SealedStateV1Schema, create(SealedStateV1Schema, envelope))
  await expect(openSnapshot(sealed, place, later, at)).rejects.toMatchObject({
    reason: "STATE_TAMPERED",
    message: expect.stringContaining("another generation than its envelope"),
  })
})

test("malformed bytes are STATE_TAMPERED, and a failure of the box is thrown unchanged", async () => {
  await expect(openSnapshot(sealed, place, generation, Uint8Array.of(1, 2, 3))).rejects.toMatchObject({
    reason: "STATE_TAMPERED",
  })
  const other = sealedRows(testBox("another"), scope)
  const at = await sealSnapshot(sealed, place, small)
  await expect(openSnapshot(other, place, generation, at)).rejects.toThrow(SecretBoxError)
})

test("a snapshot of a later version is STATE_NEWER_VERSION", async () => {
  const envelope = { formatVersion: currentFormat + 1, generation, sealed: new Uint8Array(9) }
  const later = encode(SealedStateV1Schema, create(SealedStateV1Schema, envelope))
  await expect(openSnapshot(sealed, place, generation, later)).rejects.toMatchObject({ reason: "STATE_NEWER_VERSION" })
})

test("without a key, sealing fails", async () => {
  await expect(sealSnapshot(rows, place, small)).rejects.toMatchObject({ reason: "KEY_MISSING" })
})

test("a further version needs one more migration, and a missing one is detected", () => {
  const migrations = new Map([
    [1, (plaintext: Uint8Array) => Uint8Array.of(...plaintext, 2)],
    [2, (plaintext: Uint8Array) => Uint8Array.of(...plaintext, 3)],
  ])
  expect(migrate(1, Uint8Array.of(1), { to: 3, migrations })).toEqual(Uint8Array.of(1, 2, 3))
  expect(migrate(3, Uint8Array.of(1), { to: 3, migrations })).toEqual(Uint8Array.of(1))
  expect(() => migrate(0, Uint8Array.of(1), { to: 3, migrations })).toThrow(MessagingError)
})

test("every released version has fixtures", () => {
  expect(Object.keys(fixtures)).toEqual(Array.from({ length: currentFormat }, (_, i) => String(i + 1)))
})
