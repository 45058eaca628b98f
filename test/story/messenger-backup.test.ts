// Encrypted backups: a user who has lost all devices restores the history, and each conversation continues.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { create, toBinary } from "@bufbuild/protobuf"
import { utf8 } from "@signet/canonical/bytes"
import {
  deleteStoredBackup,
  exportBackup,
  exportBackupWithPassphrase,
  listStoredBackups,
  readBackup,
  restoreBackup,
  storeBackup,
  storeBackupWithPassphrase,
  storedBackup,
} from "@signet/client/messaging/backup"
import { openFolderStore, openSqliteStore } from "@signet/client-node/messaging"
import { BackupChunkV1_HistorySchema, BackupChunkV1Schema } from "@signet/proto/client/v1/backup"
import { VerificationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest"
import { collectComparisons } from "../../clients/core/messaging/backup/collect.ts"
import { fullBytes } from "../../clients/core/messaging/backup/export.ts"
import { importComparison } from "../../clients/core/messaging/backup/import-comparisons.ts"
import { importHistory } from "../../clients/core/messaging/backup/import-history.ts"
import { openBackup } from "../../clients/core/messaging/backup/open.ts"
import { MessagingError } from "../../clients/core/messaging/errors.ts"
import { idOf } from "../../clients/core/messaging/ids.ts"
import { contextOf } from "../../clients/core/messaging/opened-messengers.ts"
import { deviceSpace } from "../../clients/core/messaging/store/store.ts"
import { contains } from "../../clients/core/messaging/testing/cast.ts"
import { readPeer, rememberList } from "../../clients/core/messaging/verification/peer-rows.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { secretsOf } from "../support/messaging/device-secrets.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"

vi.setConfig({ testTimeout: 300_000 })

let server: Deployment
let messengers: Messengers
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server, { keyPackages: 4 })
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

async function syncAll(...all: readonly OpenedMessenger[]): Promise<void> {
  for (let round = 0; round < 3; round++) for (const { messenger } of all) await messenger.sync()
}

async function allOf(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = []
  for await (const piece of bytes) pieces.push(piece)
  return pieces
}

/** A new device of a user who has lost the former ones with their stores. */
async function replaced({ person }: Pick<OpenedMessenger, "person">): Promise<OpenedMessenger> {
  return messengers.open(await person.again())
}

/** Two users with a direct conversation and a group. The first one has compared the keys of the second. */
async function talk(name: string) {
  const [ann, ben] = [await messengers.newcomer(`ann ${name}`), await messengers.newcomer(`ben ${name}`)]
  const { id: direct } = await ann.messenger.createDirectConversation(ben.person.userId)
  const { id: group } = await ann.messenger.createGroupConversation([ben.person.userId])
  await syncAll(ben)
  await ben.messenger.send(direct, utf8("first"))
  await ann.messenger.send(group, utf8("to the group"))
  await ann.messenger.sendAttachment(group, new Blob([new Uint8Array(utf8("a file"))]), { fileName: "a.txt" })
  await syncAll(ann, ben)
  const { verification } = ann.messenger
  await verification.markVerified(ben.person.userId, (await verification.of(ben.person.userId)).safetyNumber)
  return { ann, ben, direct, group }
}

/** The users of the tests that only read the first one's device. They begin once. */
let common: ReturnType<typeof talk> | undefined
const commonTalk = () => {
  common ??= talk("in common")
  return common
}

/** Follows the service's hints until the test ends. */
async function running({ messenger }: OpenedMessenger): Promise<void> {
  const ending = new AbortController()
  const run = messenger.run(ending.signal).catch(() => undefined)
  onTestFinished(async () => {
    ending.abort()
    await run
  })
}

const eventually = (expected: () => Promise<void>) => vi.waitFor(expected, { timeout: 240_000, interval: 100 })

test.runIf(isLong)(
  "a user who has lost all devices restores the backup, and members admit the new device",
  async () => {
    const { ann, ben, direct, group } = await talk("lost")
    await running(ben)
    // The second message comes by a hint, so the stream is open.
    for (const text of ["one", "two"]) {
      await ann.messenger.send(direct, utf8(text))
      await eventually(async () => expect((await textsIn(ben, direct)).at(-1)).toBe(text))
    }
    await ann.messenger.sync()
    const before = [await ann.messenger.timeline(direct), await ann.messenger.timeline(group)]
    const { recoveryKey, bytes } = await exportBackup(ann.messenger)
    const file = await allOf(bytes)
    await ann.messenger.close()
    await ben.messenger.send(direct, utf8("while away"))

    const back = await replaced(ann)
    await back.messenger.startAnew()
    const summary = await readBackup(back.messenger, file, { recoveryKey })
    expect(summary).toMatchObject({ conversations: 2, entries: before.flat().length, comparedUsers: 1 })
    const restored = await restoreBackup(back.messenger, file, { recoveryKey: recoveryKey.toLowerCase() })
    expect(restored).toEqual({ ...summary, importedEntries: summary.entries, changedUserIds: [] })

    // The history is shown before any member has added the device.
    const shown = await back.messenger.conversations()
    expect(shown.map(({ id, status }) => [id, status]).toSorted()).toEqual(
      [direct, group].map((id) => [id, "waiting"]).toSorted(),
    )
    const imported = { backupAtMs: summary.createdAtMs }
    const after = [await back.messenger.timeline(direct), await back.messenger.timeline(group)]
    expect(after).toEqual(before.map((entries) => entries.map((entry) => ({ ...entry, imported }))))
    expect(await back.messenger.verification.status(ben.person.userId)).toBe("verified")

    await running(back)
    await eventually(async () => {
      expect((await back.messenger.conversations()).map(({ status }) => status)).toEqual(["active", "active"])
    })
    await ben.messenger.send(direct, utf8("welcome back"))
    await back.messenger.send(group, utf8("here again"))
    await eventually(async () => {
      expect(await textsIn(back, direct)).toEqual(["first", "one", "two", "welcome back"])
      expect((await textsIn(ben, group)).at(-1)).toBe("here again")
    })
    expect(await back.messenger.verification.status(ben.person.userId)).toBe("verified")
    // The device was no member when the message after the backup was sent.
    const own = (await back.messenger.timeline(direct)).slice(before[0]?.length)
    expect(own).toMatchObject([{ is: "gap", afterSeq: before[0]?.at(-1)?.seq }, { is: "message" }])
    const attachment = after[1]?.find(({ is }) => is === "attachment")
    const opened = await back.messenger.openAttachment(group, attachment?.seq ?? 0n)
    expect(await opened.read(0, opened.size)).toEqual(utf8("a file"))
  },
)

test.runIf(isLong)(
  "a user who has lost all devices restores the backup from the service, and members admit the new device",
  async () => {
    const { ann, ben, direct, group } = await talk("stored")
    await running(ben)
    const before = [await textsIn(ann, direct), await textsIn(ann, group)]
    const { recoveryKey } = await storeBackup(ann.messenger)
    await ann.messenger.close()

    const back = await replaced(ann)
    await back.messenger.startAnew()
    const [found, ...others] = await listStoredBackups(back.messenger)
    expect(others).toEqual([])
    expect(found?.size).toBeGreaterThan(0)
    const secret = { recoveryKey: recoveryKey.toLowerCase() }
    const summary = await readBackup(back.messenger, storedBackup(back.messenger), secret)
    expect(summary).toMatchObject({ conversations: 2, comparedUsers: 1 })
    const restored = await restoreBackup(back.messenger, storedBackup(back.messenger, found?.id), secret)
    expect(restored).toEqual({ ...summary, importedEntries: summary.entries, changedUserIds: [] })
    expect([await textsIn(back, direct), await textsIn(back, group)]).toEqual(before)
    await running(back)
    await eventually(async () => {
      expect((await back.messenger.conversations()).map(({ status }) => status)).toEqual(["active", "active"])
    })
    await ben.messenger.send(direct, utf8("welcome back"))
    await eventually(async () => expect((await textsIn(back, direct)).at(-1)).toBe("welcome back"))
  },
)

test.runIf(isLong)(
  "a newer backup replaces the stored one, and a device refuses an older one than it knows",
  async () => {
    const { ann } = await talk("replaced")
    const { recoveryKey } = await storeBackup(ann.messenger)
    const older = await allOf(storedBackup(ann.messenger))
    const [first] = await listStoredBackups(ann.messenger)
    const { archives } = contextOf(ann.messenger).calls
    const { completeArchive } = archives
    // An interrupted call leaves the stored one in place, and the next one erases what is left of it.
    const stopped = { completeArchive: () => Promise.reject(new Error("stopped")) }
    Object.assign(archives, stopped)
    await expect(storeBackup(ann.messenger, { recoveryKey })).rejects.toThrow("stopped")
    Object.assign(archives, { completeArchive })
    expect(await listStoredBackups(ann.messenger)).toEqual([first])
    // This device has announced the newer one, so the service cannot return the older one in its place.
    await expect(readBackup(ann.messenger, older, { recoveryKey })).rejects.toMatchObject({ reason: "BACKUP_OUTDATED" })
    expect((await archives.listArchives({})).archives).toHaveLength(2)
    const laptop = await messengers.open(await ann.person.again())
    Object.assign(contextOf(laptop.messenger).calls.archives, stopped)
    await expect(storeBackup(laptop.messenger, { recoveryKey })).rejects.toThrow("stopped")
    expect(await storeBackup(ann.messenger, { recoveryKey })).toEqual({ recoveryKey })
    const [second, ...others] = await listStoredBackups(ann.messenger)
    expect(others).toEqual([])
    expect(second?.id).not.toBe(first?.id)
    // This device erases only its own: the other one may still be writing.
    expect((await archives.listArchives({})).archives).toHaveLength(2)

    const outdated = { reason: "BACKUP_OUTDATED" }
    await expect(readBackup(ann.messenger, older, { recoveryKey })).rejects.toMatchObject(outdated)
    // A device that knows none accepts it, and shows its date. Afterwards it refuses it, too.
    const back = await replaced(ann)
    await restoreBackup(back.messenger, older, { recoveryKey })
    await restoreBackup(back.messenger, storedBackup(back.messenger), { recoveryKey })
    await expect(restoreBackup(back.messenger, older, { recoveryKey })).rejects.toMatchObject(outdated)
    // A file is not refused: the app shows its date.
    const file = await exportBackup(back.messenger)
    await readBackup(ann.messenger, file.bytes, { recoveryKey: file.recoveryKey })
    // The service returns none in place of the stored one: it has no sequence.
    const [start = new Uint8Array()] = await allOf((await exportBackup(back.messenger)).bytes)
    const own = contextOf(back.messenger).calls.archives
    const { listArchives } = own
    Object.assign(own, {
      async listArchives() {
        const listed = await listArchives({})
        for (const one of listed.archives) one.header = start.slice(12)
        return listed
      },
    })
    await expect(allOf(storedBackup(back.messenger))).rejects.toMatchObject({ reason: "BACKUP_TAMPERED" })
    Object.assign(own, { listArchives })

    await deleteStoredBackup(back.messenger, second?.id ?? "")
    await deleteStoredBackup(back.messenger, second?.id ?? "")
    expect(await listStoredBackups(back.messenger)).toEqual([])
    const unknown = { reason: "BACKUP_UNKNOWN" }
    await expect(readBackup(back.messenger, storedBackup(back.messenger), { recoveryKey })).rejects.toMatchObject(
      unknown,
    )
  },
)

test.runIf(isLong)("a repeated restore changes nothing, and an interrupted one is completed", async () => {
  const { ann, direct, group } = await commonTalk()
  const { recoveryKey, bytes } = await exportBackup(ann.messenger)
  const file = await allOf(bytes)
  const back = await replaced(ann)
  await expect(restoreBackup(back.messenger, file.slice(0, 3), { recoveryKey })).rejects.toMatchObject({
    reason: "BACKUP_INCOMPLETE",
  })
  const first = await restoreBackup(back.messenger, file, { recoveryKey })
  expect(first.importedEntries).toBeGreaterThan(0)
  expect(first.importedEntries).toBeLessThan(first.entries)
  const generations = async () =>
    Promise.all([deviceSpace, direct, group].map(async (space) => (await back.store.read(space, [])).generation))
  const before = await generations()
  const second = await restoreBackup(back.messenger, file, { recoveryKey })
  expect(second).toMatchObject({ importedEntries: 0, changedUserIds: [] })
  expect(await generations()).toEqual(before)
})

test.runIf(isLong)("a long history is restored in chunks of bounded size, from a folder into SQLite", async () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-backup-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const ann = await messengers.newcomer("ann at length", { store: await openFolderStore(join(folder, "ann")) })
  const ben = await messengers.newcomer("ben at length")
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  const texts = Array.from({ length: 14 }, (_, i) => `${i} `.padEnd(200_000, "x"))
  for (const text of texts) await ann.messenger.send(id, utf8(text))
  const { recoveryKey, bytes } = await exportBackup(ann.messenger)
  const file = await allOf(bytes)
  // The header, the summary, three chunks and the end.
  expect(file.length).toBe(6)
  expect(Math.max(...file.map(({ length }) => length))).toBeLessThan(1_300_000)

  const back = await messengers.open(await ann.person.again(), { store: openSqliteStore(join(folder, "back")) })
  const cut = restoreBackup(back.messenger, file.slice(0, 4), { recoveryKey })
  await expect(cut).rejects.toMatchObject({ reason: "BACKUP_INCOMPLETE" })
  const some = await textsIn(back, id)
  expect(some).toEqual(texts.slice(0, some.length))
  expect(some.length).toBeGreaterThan(0)
  expect(some.length).toBeLessThan(texts.length)
  await restoreBackup(back.messenger, file, { recoveryKey })
  expect(await textsIn(back, id)).toEqual(texts)
})

test.runIf(isLong)("entries of this device stay, and a device that has joined gets the earlier ones", async () => {
  const { ann, ben, direct } = await talk("joined")
  const { recoveryKey, bytes } = await exportBackup(ann.messenger)
  const file = await allOf(bytes)
  await ben.messenger.send(direct, utf8("not in the backup"))
  const back = await replaced(ann)
  await syncAll(back, ann, ben, back)
  await ben.messenger.send(direct, utf8("to the new device"))
  await back.messenger.sync()
  const own = await back.messenger.timeline(direct)
  await restoreBackup(back.messenger, file, { recoveryKey })
  const all = await back.messenger.timeline(direct)
  expect(all.slice(-own.length)).toEqual(own)
  expect(await textsIn(back, direct)).toEqual(["first", "to the new device"])
  expect(all.map(({ is }) => is)).toContain("gap")
  await ben.messenger.send(direct, utf8("and on"))
  await back.messenger.sync()
  expect((await textsIn(back, direct)).at(-1)).toBe("and on")
})

test.runIf(isLong)("an entry after the position at which a device joined comes from the log", async () => {
  const { ann, ben, direct } = await talk("unread")
  const back = await replaced(ann)
  await syncAll(back, ann, ben, back)
  await ben.messenger.send(direct, utf8("in the log and in the backup"))
  await ann.messenger.sync()
  const { recoveryKey, bytes } = await exportBackup(ann.messenger)
  await restoreBackup(back.messenger, await allOf(bytes), { recoveryKey })
  expect(await textsIn(back, direct)).toEqual(["first"])
  const seen: unknown[] = []
  back.messenger.subscribe((event) => seen.push(event.is === "entry" && event.entry.imported))
  await back.messenger.sync()
  expect(await textsIn(back, direct)).toEqual(["first", "in the log and in the backup"])
  expect(seen).toContain(undefined)
})

test.runIf(isLong)("a backup that names another space than a conversation writes nothing", async () => {
  const { messenger, store } = await messengers.newcomer("victim")
  const before = (await store.read(deviceSpace, [])).generation
  const history = create(BackupChunkV1_HistorySchema, {
    conversation: { conversationId: deviceSpace },
    entries: [{ seq: 1n, record: { entry: { case: "gap", value: {} } } }],
  })
  await expect(importHistory(contextOf(messenger), history, 1n)).rejects.toMatchObject({ reason: "BACKUP_TAMPERED" })
  expect((await store.read(deviceSpace, [])).generation).toBe(before)
})

test.runIf(isLong)("a comparison counts only if today's keys are the compared ones", async () => {
  const { ann, ben } = await talk("keys")
  const { recoveryKey, bytes } = await exportBackup(ann.messenger)
  const file = await allOf(bytes)
  // Another device of the peer: its key was not compared.
  await messengers.open(await ben.person.again())
  const back = await replaced(ann)
  const events: string[] = []
  back.messenger.subscribe((event) => events.push(event.is))
  const restored = await restoreBackup(back.messenger, file, { recoveryKey })
  expect(restored.changedUserIds).toEqual([ben.person.userId])
  expect(await back.messenger.verification.status(ben.person.userId)).toBe("changed")
  expect(events).toContain("keysChanged")
  // A comparison on this device is newer.
  const { verification } = back.messenger
  await verification.markVerified(ben.person.userId, (await verification.of(ben.person.userId)).safetyNumber)
  expect((await restoreBackup(back.messenger, file, { recoveryKey })).changedUserIds).toEqual([])
  expect(await verification.status(ben.person.userId)).toBe("verified")
})

test.runIf(isLong)("an import returns to no earlier device list than one that this device has seen", async () => {
  const { ann, ben } = await commonTalk()
  const userId = ben.person.userId
  const [found] = await collectComparisons(contextOf(ann.messenger))
  const back = await replaced(ann)
  const context = contextOf(back.messenger)
  const seen = { version: 1_000n, hash: new Uint8Array(32).fill(1) }
  await rememberList(context, userId, seen)
  // The service has no list of the user now.
  context.calls.devices.listDeviceLists = () => Promise.reject(new MessagingError("ANSWER_REFUSED", "no list"))
  await importComparison(context, found ?? expect.fail())
  const { record } = await readPeer(context, userId)
  expect(record).toMatchObject({ status: Status.CHANGED, listVersion: seen.version, listHash: seen.hash })
})

test.runIf(isLong)("a passphrase opens its backup, and no recovery key does", async () => {
  const { ann } = await commonTalk()
  const weakest = { memoryKiB: 19_456, passes: 2 }
  expect(() => exportBackupWithPassphrase(ann.messenger, "a", { ...weakest, passes: 1 })).toThrow(/passes/)
  const file = await allOf(exportBackupWithPassphrase(ann.messenger, "correct horse", weakest))
  const back = await replaced(ann)
  const open = (secret: Parameters<typeof readBackup>[2]) => readBackup(back.messenger, file, secret)
  expect(await open({ passphrase: "correct horse" })).toMatchObject({ conversations: 2 })
  await expect(open({ passphrase: "wrong horse" })).rejects.toMatchObject({ reason: "BACKUP_KEY_WRONG" })
  const { recoveryKey } = await exportBackup(ann.messenger)
  await expect(open({ recoveryKey })).rejects.toMatchObject({ reason: "BACKUP_KEY_WRONG" })
})

test.runIf(isLong)(
  "a backup under a passphrase is stored at the service, and replaces one under a recovery key",
  async () => {
    const { ann, direct } = await talk("stored passphrase")
    const weakest = { memoryKiB: 19_456, passes: 2 }
    await storeBackup(ann.messenger)
    await expect(storeBackupWithPassphrase(ann.messenger, "", weakest)).rejects.toThrow(/passphrase is empty/)
    await storeBackupWithPassphrase(ann.messenger, "correct horse", weakest)
    expect(await listStoredBackups(ann.messenger)).toHaveLength(1)
    const back = await replaced(ann)
    await restoreBackup(back.messenger, storedBackup(back.messenger), { passphrase: "correct horse" })
    expect(await textsIn(back, direct)).toEqual(["first"])
  },
)

test("another user's backup is refused before its key is asked for", async () => {
  const { ann, ben } = await commonTalk()
  const { recoveryKey, bytes } = await exportBackup(ann.messenger)
  const file = await allOf(bytes)
  await expect(restoreBackup(ben.messenger, file, { recoveryKey })).rejects.toMatchObject({ reason: "WRONG_USER" })
})

test.runIf(isLong)("a backup has no secret of the device, of a group or of a message in transit", async () => {
  const { ann, ben, direct, group } = await talk("taint")
  await ann.messenger.encryptMessage(direct, utf8("in transit"))
  await ben.messenger.send(group, utf8("unread by ann"))
  const context = contextOf(ann.messenger)
  const secrets = await secretsOf(context)
  const { recoveryKey, bytes } = await exportBackup(ann.messenger)
  const { contents } = await openBackup(context.owner, await allOf(bytes), { recoveryKey })
  const chunks: Uint8Array[] = []
  for await (const content of contents)
    chunks.push(toBinary(BackupChunkV1Schema, create(BackupChunkV1Schema, { content })))
  const found = (one: Uint8Array) => chunks.some((chunk) => contains(chunk, one))
  expect(found(utf8("to the group"))).toBe(true)
  expect(secrets.filter(found)).toEqual([])
})

test.runIf(isLong)(
  "a backup is read and restored chunk by chunk: the next one after the one before is written",
  async () => {
    const ann = await messengers.newcomer("ann, whose history has three chunks")
    const context = contextOf(ann.messenger)
    const conversationId = idOf("cnv", crypto.getRandomValues(new Uint8Array(16)))
    const message = {
      userId: ann.person.userId,
      deviceId: ann.messenger.deviceId,
      plaintext: new Uint8Array(fullBytes),
    }
    const entries = [1n, 2n, 3n].map((seq) => ({
      seq,
      record: { atMs: 7n, entry: { case: "message", value: message } } as const,
    }))
    const conversation = { conversationId, mlsGroupId: new Uint8Array(16), processedSeq: 3n }
    await importHistory(context, create(BackupChunkV1_HistorySchema, { conversation, entries }), 7n)

    const opening = vi.spyOn(context.rows, "read")
    onTestFinished(() => opening.mockRestore())
    const opened: number[] = []
    const pieces: Uint8Array[] = []
    const { recoveryKey, bytes } = await exportBackup(ann.messenger)
    for await (const piece of bytes) {
      pieces.push(piece)
      opened.push(opening.mock.calls.filter(([{ table }]) => table === "timeline").length)
    }
    // After the header, the summary, each chunk and the end.
    expect(opened).toEqual([0, 0, 1, 2, 3, 3])

    const other = await replaced(ann)
    const imported: number[] = []
    async function* file() {
      for (const piece of pieces) {
        imported.push((await other.messenger.timeline(conversationId)).length)
        yield piece
      }
    }
    await restoreBackup(other.messenger, file(), { recoveryKey })
    // Before each of them.
    expect(imported).toEqual([0, 0, 0, 1, 2, 3])
  },
)
