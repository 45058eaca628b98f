// The steps over the messenger of Node, for its platform and for the other users.
import { createReadStream, openAsBlob } from "node:fs"
import { writeFile } from "node:fs/promises"
import { exportBackup, restoreBackup } from "../../../../clients/core/messaging/backup/index.ts"
import { grantHistoryByQr, requestHistoryByQr, runHistory } from "../../../../clients/core/messaging/history/index.ts"
import type { Messenger } from "../../../../clients/core/messaging/messenger.ts"
import type { PeerClient, ScenarioClient } from "./client.ts"

export const scenarioOverMessenger = (
  messenger: Messenger,
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
  sendFile: async (id, path) => String((await messenger.sendAttachment(id, await openAsBlob(path))).seq),
  async saveFile(id, seq, path) {
    const opened = await messenger.openAttachment(id, BigInt(seq))
    await writeFile(path, await opened.read(0, opened.size))
  },
  safetyNumber: async (userId) => (await messenger.verification.of(userId)).safetyNumber ?? "",
  markVerified: async (userId, compared) => (await messenger.verification.markVerified(userId, compared)).status,
  showQr: (userId) => messenger.verification.qrCode(userId),
  scan: async (userId, scanned) => (await messenger.verification.scan(userId, scanned)).status,
  requestHistory: async () => (await requestHistoryByQr(messenger)).qr,
  grantHistory: (qr) => grantHistoryByQr(messenger, qr),
  runHistory: () => runHistory(messenger),
  async backUp(path) {
    const { recoveryKey, bytes } = await exportBackup(messenger)
    for await (const piece of bytes) await writeFile(path, piece, { flag: "a" })
    return recoveryKey
  },
  recover: async (path, recoveryKey) =>
    String((await restoreBackup(messenger, createReadStream(path), { recoveryKey })).importedEntries),
})
