// The steps over the core's services: WebAssembly, and libsignet behind its C interface.
import type { CoreClient } from "@signet/client-native"
import type { DeviceOptions, ScenarioClient } from "./client.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

export const scenarioOverCore = (
  { identity, messenger, backup, history }: CoreClient,
  { messagingUrl, audience, rootKey }: DeviceOptions,
): ScenarioClient => ({
  async signIn(nonce, idToken) {
    const { user } = await identity.login({ provider: "IDP_A", nonce, credential: { idToken } })
    return user?.principalId ?? ""
  },
  async openMessenger() {
    const issuerRootKeys = [new Uint8Array(Buffer.from(rootKey, "hex"))]
    return (await messenger.open({ baseUrl: messagingUrl, audience, issuerRootKeys, keyPackages: 8 })).deviceId
  },
  createDirect: async (peerUserId) => (await messenger.createDirectConversation({ peerUserId })).conversation?.id ?? "",
  createGroup: async (...memberUserIds) =>
    (await messenger.createGroupConversation({ memberUserIds })).conversation?.id ?? "",
  async add(conversationId, userId) {
    await messenger.addMembers({ conversationId, userIds: [userId] })
  },
  async remove(conversationId, userId) {
    await messenger.removeMembers({ conversationId, userIds: [userId] })
  },
  async send(conversationId, text) {
    await messenger.send({ conversationId, plaintext: utf8(text) })
  },
  async sync() {
    await messenger.sync()
  },
  async read(conversationId) {
    const { entries } = await messenger.listTimeline({ conversationId })
    return entries.flatMap(({ entry }) => (entry.case === "message" ? [textOf(entry.value.plaintext)] : []))
  },
  members: async (conversationId) =>
    (await messenger.getConversation({ conversationId })).conversation?.memberUserIds ?? [],
  async renewKeys(conversationId) {
    await messenger.refreshKeys({ conversationId })
  },
  sendFile: async (conversationId, path) => String((await messenger.sendAttachment({ conversationId, path })).seq),
  async saveFile(conversationId, seq, path) {
    await messenger.saveAttachment({ conversationId, seq: BigInt(seq), path })
  },
  safetyNumber: async (userId) => (await messenger.getVerification({ userId })).verification?.safetyNumber ?? "",
  markVerified: async (userId, compared) =>
    (await messenger.markVerified({ userId, compared })).verification?.status ?? "",
  showQr: async (userId) => (await messenger.getQrCode({ userId })).text,
  scan: async (userId, scanned) => (await messenger.scanQrCode({ userId, scanned })).verification?.status ?? "",
  requestHistory: async () => (await history.requestHistoryByQr()).qr,
  async grantHistory(qr) {
    await history.grantHistoryByQr({ qr })
  },
  async runHistory() {
    await history.runHistory()
  },
  async backUp(path) {
    const { recoveryKey } = await backup.createRecoveryKey()
    await backup.exportBackup({ path, secret: { secret: { case: "recoveryKey", value: recoveryKey } } })
    return recoveryKey
  },
  async recover(path, value) {
    const secret = { secret: { case: "recoveryKey", value } } as const
    return String((await backup.restoreBackup({ path, secret })).importedEntries)
  },
  async signOut() {
    await identity.logout()
  },
})
