// The format of a backup against an attacker with the file: each change is noticed, and nothing after it is read.
import { createCipheriv, createHash, hkdfSync } from "node:crypto"
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { concat, utf8 } from "@signet/canonical/bytes"
import {
  BackupChunkV1Schema,
  type BackupHeaderV1,
  BackupHeaderV1_PassphraseDerivationSchema,
  BackupHeaderV1Schema,
} from "@signet/proto/client/v1/backup"
import { expect, test } from "vitest"
import { idOf } from "../ids.ts"
import type { Owner } from "../session.ts"
import { type BackupSecret, deriveKey, keyOf } from "./chunks.ts"
import { frameOf, magic } from "./frames.ts"
import { formatHeader, headerIn, ownerHashOf } from "./header.ts"
import { openBackup } from "./open.ts"
import { formatRecoveryKey } from "./recovery-key.ts"

const bytesOf = (byte: number, length = 16) => new Uint8Array(length).fill(byte)

function ownerNamed(byte: number): Owner {
  const [app, user] = [bytesOf(1), bytesOf(byte)]
  const ids = { appId: idOf("app", app), tenantId: undefined, userId: idOf("prn", user) }
  return { ...ids, app, tenant: undefined, user }
}

const owner = ownerNamed(2)
const secret: BackupSecret = { recoveryKey: formatRecoveryKey(bytesOf(9, 32)) }
const id = idOf("cnv", bytesOf(3))
const history = (seq: bigint): Content => {
  const entries = [
    { seq, record: { entry: { case: "message", value: { plaintext: utf8(`number ${seq}`) } } as const } },
  ]
  return { case: "history", value: { conversation: { conversationId: id }, entries } }
}
type Content = NonNullable<MessageInitShape<typeof BackupChunkV1Schema>["content"]>
const contents: Content[] = [
  { case: "summary", value: { entries: 2n, createdAtMs: 1n } },
  history(1n),
  history(2n),
  { case: "end", value: {} },
]

interface Made {
  readonly check: Uint8Array
  readonly header: Uint8Array
  readonly chunks: readonly Uint8Array[]
}

async function make(byte = 5, given = contents): Promise<Made> {
  const key = keyOf(bytesOf(9, 32), bytesOf(byte))
  const fields = { backupId: bytesOf(byte), ownerHash: ownerHashOf(owner), keyCheck: key.check }
  const header = formatHeader({ ...fields, passphrase: undefined })
  const chain = key.chunks(headerIn(header))
  const chunks: Uint8Array[] = []
  for (const content of given) {
    const plaintext = toBinary(BackupChunkV1Schema, create(BackupChunkV1Schema, { content }))
    chunks.push(await chain.seal(new Uint8Array(plaintext)))
  }
  return { check: key.check, header, chunks }
}

const fileOf = ({ header, chunks }: Omit<Made, "check">): Uint8Array =>
  concat(magic, ...[header, ...chunks].map(frameOf))

/** The kinds of the chunks that were read, and the reason of the failure. */
async function readAll(file: Uint8Array, pieceSize = file.length, reader = owner, key = secret) {
  const read: (string | undefined)[] = []
  function* pieces() {
    for (let at = 0; at < file.length; at += pieceSize) yield file.subarray(at, at + pieceSize)
  }
  try {
    const { contents: opened } = await openBackup(reader, pieces(), key)
    read.push("summary")
    for await (const content of opened) read.push(content.case)
    return { read, reason: undefined }
  } catch (error) {
    return { read, reason: error instanceof Error && "reason" in error ? error.reason : String(error) }
  }
}

const good = await make()
const file = fileOf(good)
const whole = { read: ["summary", "history", "history"], reason: undefined }

/** The header with other fields and a correct hash, as an attacker writes it. */
function withHeader(change: Partial<BackupHeaderV1>): Uint8Array {
  const header = fromBinary(BackupHeaderV1Schema, headerIn(good.header))
  const bytes = toBinary(BackupHeaderV1Schema, create(BackupHeaderV1Schema, { ...header, ...change }))
  return fileOf({ ...good, header: concat(bytes, createHash("sha256").update(bytes).digest()) })
}

test("a backup is read in pieces of any size", async () => {
  for (const size of [1, 3, 64, file.length]) expect(await readAll(file, size)).toEqual(whole)
})

test("a backup is read from a stream, a page's stream and an async iterable, and an empty one is no backup", async () => {
  const blob = new Blob([file.slice()])
  async function* pieces() {
    yield file.subarray(0, 100)
    yield file.subarray(100)
  }
  // Some browsers do not iterate over a ReadableStream.
  const plain: object = { getReader: () => blob.stream().getReader() }
  for (const source of [blob.stream(), plain as ReadableStream<Uint8Array>, pieces()]) {
    const read: (string | undefined)[] = []
    for await (const { case: kind } of (await openBackup(owner, source, secret)).contents) read.push(kind)
    expect(read).toEqual(["history", "history"])
  }
  for (const length of [0, 3]) {
    expect((await readAll(file.slice(0, length), 1)).reason).toMatch(/BACKUP_(TAMPERED|INCOMPLETE)/)
  }
})

test("the secret of a backup has 32 bytes", () => {
  for (const length of [0, 31, 33]) expect(() => keyOf(bytesOf(9, length), bytesOf(5))).toThrow(RangeError)
})

test("the bytes equal an independent implementation of the documented format", () => {
  const derive = (info: Uint8Array, length: number) =>
    Buffer.from(hkdfSync("sha256", bytesOf(9, 32), bytesOf(5), info, length))
  const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest()
  const header = fromBinary(BackupHeaderV1Schema, headerIn(good.header))
  expect(Buffer.from(header.keyCheck)).toEqual(derive(utf8("signet backup key check v1"), 16))
  let previous: Uint8Array = new Uint8Array(32)
  for (const [i, content] of contents.entries()) {
    const key = derive(concat(utf8("signet backup chunk v1"), new Uint8Array(7), Uint8Array.of(i)), 32)
    const cipher = createCipheriv("aes-256-gcm", key, new Uint8Array(12))
    cipher.setAAD(concat(sha256(headerIn(good.header)), previous))
    const plaintext = toBinary(BackupChunkV1Schema, create(BackupChunkV1Schema, { content }))
    const sealed = concat(cipher.update(plaintext), cipher.final(), cipher.getAuthTag())
    expect(good.chunks[i]).toEqual(new Uint8Array(sealed))
    previous = sha256(sealed)
  }
})

test("each flipped byte is detected, and nothing after it is read", async () => {
  for (let at = 0; at < file.length; at++) {
    const flipped = file.slice()
    flipped[at] = (flipped[at] ?? 0) ^ 1
    const { read, reason } = await readAll(flipped)
    expect(["BACKUP_TAMPERED", "BACKUP_INCOMPLETE"], `byte ${at}`).toContain(reason)
    expect(read.length).toBeLessThanOrEqual(whole.read.length)
  }
})

test("each shorter file is incomplete", async () => {
  for (let length = magic.length; length < file.length; length++) {
    expect((await readAll(file.subarray(0, length))).reason, `${length} bytes`).toBe("BACKUP_INCOMPLETE")
  }
})

const [summary = bytesOf(0), one = bytesOf(0), two = bytesOf(0), end = bytesOf(0)] = good.chunks
const other = await make(6)
test.each<[string, readonly Uint8Array[], string]>([
  ["without the last chunk", [summary, one, two], "BACKUP_INCOMPLETE"],
  ["with two chunks swapped", [summary, two, one, end], "BACKUP_TAMPERED"],
  ["with a chunk left out", [summary, two, end], "BACKUP_TAMPERED"],
  ["with a repeated chunk", [summary, one, one, two, end], "BACKUP_TAMPERED"],
  ["with a chunk after the last one", [summary, one, two, end, two], "BACKUP_TAMPERED"],
  [
    "with the last chunk of another backup under the same key",
    [summary, one, two, ...other.chunks.slice(3)],
    "BACKUP_TAMPERED",
  ],
  ["without any chunk", [], "BACKUP_INCOMPLETE"],
])("a backup %s is refused", async (_, chunks, reason) => {
  expect((await readAll(fileOf({ ...good, chunks }))).reason).toBe(reason)
})

test("a backup without a date is refused: its entries would have no mark", async () => {
  const made = await make(5, [{ case: "summary", value: { entries: 2n } }, ...contents.slice(1)])
  expect(await readAll(fileOf(made))).toEqual({ read: [], reason: "BACKUP_TAMPERED" })
})

test("a backup that does not begin with its summary is refused", async () => {
  const made = await make(5, [history(1n), ...contents])
  expect(await readAll(fileOf(made))).toEqual({ read: [], reason: "BACKUP_TAMPERED" })
})

test("a frame beyond the limit is refused before it is read", async () => {
  const length = new Uint8Array(4)
  new DataView(length.buffer).setUint32(0, 4_194_304 + 17)
  const cut = file.length - frameOf(end).length
  expect((await readAll(concat(file.subarray(0, cut), length))).reason).toBe("BACKUP_TAMPERED")
})

test("a header that was rewritten for another user does not open", async () => {
  const thief = ownerNamed(7)
  expect((await readAll(file, 64, thief)).reason).toBe("WRONG_USER")
  const rewritten = withHeader({ ownerHash: ownerHashOf(thief) })
  expect(await readAll(rewritten, 64, thief)).toEqual({ read: [], reason: "BACKUP_TAMPERED" })
})

const derivation = (change: object) =>
  create(BackupHeaderV1_PassphraseDerivationSchema, {
    ...{ memoryKib: 19_456, passes: 2, lanes: 1, salt: bytesOf(1) },
    ...change,
  })
test.each<[string, Partial<BackupHeaderV1>, string]>([
  ["a later version", { version: 2 }, "STATE_NEWER_VERSION"],
  ["no version", { version: 0 }, "BACKUP_TAMPERED"],
  ["a short id", { backupId: bytesOf(5, 15) }, "BACKUP_TAMPERED"],
  ["another id", { backupId: bytesOf(6) }, "BACKUP_KEY_WRONG"],
  ["a short key check", { keyCheck: good.check.slice(1) }, "BACKUP_TAMPERED"],
  ["a short owner", { ownerHash: ownerHashOf(owner).slice(1) }, "BACKUP_TAMPERED"],
  ["less memory", { passphrase: derivation({ memoryKib: 19_455 }) }, "BACKUP_PARAMETERS_REFUSED"],
  ["more memory", { passphrase: derivation({ memoryKib: 1_048_577 }) }, "BACKUP_PARAMETERS_REFUSED"],
  ["one pass", { passphrase: derivation({ passes: 1 }) }, "BACKUP_PARAMETERS_REFUSED"],
  ["no lane", { passphrase: derivation({ lanes: 0 }) }, "BACKUP_PARAMETERS_REFUSED"],
  ["a short salt", { passphrase: derivation({ salt: bytesOf(1, 8) }) }, "BACKUP_PARAMETERS_REFUSED"],
])("a header with %s is refused", async (_, change, reason) => {
  expect(await readAll(withHeader(change))).toEqual({ read: [], reason })
})

test("another recovery key is refused as a wrong key, and a mistyped one as mistyped", async () => {
  const another = { recoveryKey: formatRecoveryKey(bytesOf(8, 32)) }
  expect((await readAll(file, 64, owner, another)).reason).toBe("BACKUP_KEY_WRONG")
  expect((await readAll(file, 64, owner, { passphrase: "words" })).reason).toBe("BACKUP_KEY_WRONG")
  expect((await readAll(file, 64, owner, { recoveryKey: "1234" })).reason).toBe("BACKUP_KEY_INVALID")
})

test("a passphrase derives the key of a backup under a passphrase only, and a recovery key of the others", async () => {
  const weak = { memoryKiB: 8, passes: 1, lanes: 1, salt: bytesOf(1) }
  const [under, without] = [{ backupId: bytesOf(5), passphrase: weak }, { backupId: bytesOf(5) }]
  const checkOf = async (...of: Parameters<typeof deriveKey>) => Buffer.from((await deriveKey(...of)).check)
  expect(await checkOf(without, secret)).toEqual(Buffer.from(good.check))
  expect(await checkOf(under, { passphrase: "words" })).not.toEqual(await checkOf(under, { passphrase: "others" }))
  const isWrong = { reason: "BACKUP_KEY_WRONG" }
  await expect(deriveKey(without, { passphrase: "words" })).rejects.toMatchObject(isWrong)
  await expect(deriveKey(under, secret)).rejects.toMatchObject(isWrong)
})

test("two chunks of a transfer at one position have two keys", async () => {
  const key = keyOf(new Uint8Array(32).fill(1), new Uint8Array(16).fill(2))
  const at = { sequence: 3n, previous: new Uint8Array(32).fill(3) }
  let draws = 0
  const random = { bytes: (length: number) => new Uint8Array(length).fill(++draws) }
  const header = utf8("grant")
  const plaintext = new Uint8Array(64)
  const [one, other] = [
    await key.salted(header, at, random).seal(plaintext),
    await key.salted(header, at, random).seal(plaintext),
  ]
  // Without the salt, which precedes the ciphertext.
  expect(one.subarray(16)).not.toEqual(other.subarray(16))
  for (const sealed of [one, other]) {
    expect(await key.salted(header, at, random).open(new Uint8Array(sealed))).toEqual(plaintext)
  }
  const elsewhere = [
    key.salted(utf8("another grant"), at, random),
    key.salted(header, { ...at, sequence: 4n }, random),
    key.salted(header, { ...at, previous: new Uint8Array(32) }, random),
  ]
  for (const chain of elsewhere) {
    await expect(chain.open(new Uint8Array(one))).rejects.toMatchObject({ reason: "BACKUP_TAMPERED" })
  }
})
