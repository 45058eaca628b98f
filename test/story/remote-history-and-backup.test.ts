// History, backups and pushes of a messenger in a core, through the messages of the client's services.
import { utf8 } from "@signet/canonical/bytes"
import type * as portableBackup from "@signet/client/messaging/backup"
import type * as portableHistory from "@signet/client/messaging/history"
import type * as portablePush from "@signet/client/messaging/push"
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest"
import { openMemoryStore } from "../../clients/core/messaging/index.ts"
import * as backup from "../../clients/core/messaging/remote/backup.ts"
import * as history from "../../clients/core/messaging/remote/history.ts"
import * as push from "../../clients/core/messaging/remote/push.ts"
import { testBox } from "../../clients/core/messaging/testing/test-box.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { createRemotely, type Messengers, messengersOn, textsIn } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"

vi.setConfig({ testTimeout: 120_000 })

/** The compiler refuses this file if a remote messenger lacks a function, or has another signature. */
const surface: readonly [typeof portableBackup, typeof portableHistory, typeof portablePush] = [backup, history, push]

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

type Person = Awaited<ReturnType<Deployment["person"]>>

async function openRemotely(person: Person) {
  const setup = { store: openMemoryStore(), box: testBox() }
  const messenger = await createRemotely(...messengers.optionsFor(person, setup))
  onTestFinished(() => messenger.close())
  await messenger.sync()
  return { person, messenger }
}

/** A user with a history in one conversation, and a new device of the same user. */
async function talk(name: string) {
  const ann = await openRemotely(await server.person(`ann ${name}`))
  const ben = await messengers.newcomer(`ben ${name}`)
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  for (const text of ["one", "two"]) await ann.messenger.send(id, utf8(text))
  const next = await openRemotely(await ann.person.again())
  for (let round = 0; round < 2; round++) for (const one of [ann, next]) await one.messenger.sync()
  return { ann, next, id }
}

async function allOf(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = []
  for await (const piece of bytes) pieces.push(piece)
  return pieces
}

test("every function of a messenger of this process has one for a messenger in a core", () => {
  expect(surface).toHaveLength(3)
})

test.runIf(isLong)(
  "a device in a core transfers the history by a QR code and by digits, and reports progress",
  async () => {
    const { ann, next, id } = await talk("in cores")
    const { transferId, qr } = await history.requestHistoryByQr(next.messenger)
    const [asked] = await history.historyRequests(ann.messenger)
    expect(asked).toEqual({ transferId, deviceId: next.messenger.deviceId, code: undefined })
    await history.cancelHistory(next.messenger, transferId)
    await expect(history.grantHistoryByQr(ann.messenger, qr)).rejects.toMatchObject({ reason: "HISTORY_REFUSED" })

    const byCode = await history.requestHistoryByCode(next.messenger)
    const [request] = await history.historyRequests(ann.messenger)
    const shown = byCode.codes.find(({ deviceId }) => deviceId === ann.messenger.deviceId)
    expect(request).toMatchObject({ transferId: byCode.transferId, code: shown?.code })
    const wrong = { deviceId: ann.messenger.deviceId, code: "0".repeat(60) }
    await expect(history.confirmHistoryCode(next.messenger, byCode.transferId, wrong)).rejects.toMatchObject({
      reason: "COMPARISON_FAILED",
    })
    await history.grantHistoryByCode(ann.messenger, byCode.transferId, request?.code ?? "")
    await history.confirmHistoryCode(next.messenger, byCode.transferId, shown ?? wrong)
    const progress: portableHistory.HistoryProgress[] = []
    await Promise.all([
      history.runHistory(ann.messenger),
      history.runHistory(next.messenger, { onProgress: (one) => progress.push(one) }),
    ])
    expect(progress.at(-1)).toMatchObject({ transferId: byCode.transferId, chunks: expect.any(Number) })
    expect(await textsIn(next, id)).toEqual(["one", "two"])
  },
)

test.runIf(isLong)("an aborted transfer ends with the reason of the signal, and the next call continues", async () => {
  const { ann, next, id } = await talk("who stop")
  const { qr } = await history.requestHistoryByQr(next.messenger)
  const stopping = new AbortController()
  const running = history.runHistory(next.messenger, { signal: stopping.signal })
  stopping.abort()
  await expect(running).rejects.toMatchObject({ name: "AbortError" })
  await history.grantHistoryByQr(ann.messenger, qr)
  await Promise.all([history.runHistory(ann.messenger), history.runHistory(next.messenger)])
  expect(await textsIn(next, id)).toEqual(["one", "two"])
})

test.runIf(isLong)("a core writes a backup to a file and to the service, and another core restores them", async () => {
  const { ann, next, id } = await talk("with backups")
  const { recoveryKey, bytes } = await backup.exportBackup(ann.messenger)
  const file = await allOf(bytes)
  expect(await backup.readBackup(next.messenger, file, { recoveryKey })).toMatchObject({ conversations: 1 })
  const other = { recoveryKey: (await backup.exportBackup(ann.messenger)).recoveryKey }
  expect(other.recoveryKey).not.toBe(recoveryKey)
  await expect(backup.readBackup(next.messenger, file, other)).rejects.toMatchObject({ reason: "BACKUP_KEY_WRONG" })
  const broken = (async function* () {
    yield* file.slice(0, 1)
    throw new TypeError("the disk is gone")
  })()
  await expect(backup.restoreBackup(next.messenger, broken, { recoveryKey })).rejects.toThrow("the disk is gone")

  const weakest = { memoryKiB: 19_456, passes: 2 }
  await expect(allOf(backup.exportBackupWithPassphrase(ann.messenger, "", weakest))).rejects.toThrow(RangeError)
  await backup.storeBackupWithPassphrase(ann.messenger, "correct horse", weakest)
  const [stored] = await backup.listStoredBackups(ann.messenger)
  const secret = { passphrase: "correct horse" }
  const unknown = backup.storedBackup(next.messenger, "00".repeat(16))
  await expect(backup.readBackup(next.messenger, unknown, secret)).rejects.toMatchObject({ reason: "BACKUP_UNKNOWN" })
  const restored = await backup.restoreBackup(next.messenger, backup.storedBackup(next.messenger, stored?.id), secret)
  expect(restored.importedEntries).toBeGreaterThan(0)
  expect(await textsIn(next, id)).toEqual(["one", "two"])
  await backup.deleteStoredBackup(ann.messenger, stored?.id ?? "")
  expect(await backup.listStoredBackups(ann.messenger)).toEqual([])
})

test("a core reports that the operator has not enabled pushes", async () => {
  const ann = await openRemotely(await server.person("ann without pushes"))
  expect(await push.pushSettings(ann.messenger)).toBeUndefined()
  await expect(
    push.setPushEndpoint(ann.messenger, { is: "webPush", url: "https://push.example/1" }),
  ).rejects.toMatchObject({
    reason: "INVALID_FIELD",
  })
  await push.deletePushEndpoint(ann.messenger)
})
