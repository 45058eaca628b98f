// The steps over a messenger in TypeScript: in Node, and in a page.
import type { exportBackup, restoreBackup } from "../../../../clients/core/messaging/backup/index.ts"
import type {
  grantHistoryByQr,
  requestHistoryByQr,
  runHistory,
} from "../../../../clients/core/messaging/history/index.ts"
import type { Messenger } from "../../../../clients/core/messaging/messenger.ts"
import type { PeerClient, ScenarioClient } from "./client.ts"

/** The parts of the platform beside its messenger. */
export interface Beside {
  readonly files: {
    open(path: string): Promise<Blob>
    save(path: string, bytes: Uint8Array): Promise<void>
  }
  readonly backup: { readonly exportBackup: typeof exportBackup; readonly restoreBackup: typeof restoreBackup }
  readonly history: {
    readonly requestHistoryByQr: typeof requestHistoryByQr
    readonly grantHistoryByQr: typeof grantHistoryByQr
    readonly runHistory: typeof runHistory
  }
}

export const scenarioOverMessenger = (
  messenger: Messenger,
  { files, backup, history }: Beside,
): PeerClient & Pick<ScenarioClient, "backUp" | "recover"> => ({
  createDirect: async (userId) => (await messenger.createDirectConversation(userId)).id,
  createGroup: async (...userIds) => (await messenger.createGroupConversation(userIds)).id,
  add: (id, userId) => messenger.addMembers(id, [userId]),
  remove: (id, userId) => messenger.removeMembers(id, [userId]),
  async send(id, text) {
    await messenger.send(id, new TextEncoder().encode(text))
  },
  sync: () => messenger.sync(),
  read: async (id) =>
    (await messenger.timeline(id)).flatMap((entry) =>
      entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : [],
    ),
  members: async (id) => [...((await messenger.conversation(id))?.memberUserIds ?? [])],
  renewKeys: (id) => messenger.refreshKeys(id),
  sendFile: async (id, path) => String((await messenger.sendAttachment(id, await files.open(path))).seq),
  async saveFile(id, seq, path) {
    const opened = await messenger.openAttachment(id, BigInt(seq))
    await files.save(path, await opened.read(0, opened.size))
  },
  safetyNumber: async (userId) => (await messenger.verification.of(userId)).safetyNumber ?? "",
  markVerified: async (userId, compared) => (await messenger.verification.markVerified(userId, compared)).status,
  showQr: (userId) => messenger.verification.qrCode(userId),
  scan: async (userId, scanned) => (await messenger.verification.scan(userId, scanned)).status,
  requestHistory: async () => (await history.requestHistoryByQr(messenger)).qr,
  grantHistory: (qr) => history.grantHistoryByQr(messenger, qr),
  runHistory: () => history.runHistory(messenger),
  async backUp(path) {
    const { recoveryKey, bytes } = await backup.exportBackup(messenger)
    const pieces: Uint8Array[] = []
    for await (const piece of bytes) pieces.push(piece)
    await files.save(path, concatenated(pieces))
    return recoveryKey
  },
  async recover(path, recoveryKey) {
    const restored = await backup.restoreBackup(messenger, (await files.open(path)).stream(), { recoveryKey })
    return String(restored.importedEntries)
  },
})

function concatenated(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
