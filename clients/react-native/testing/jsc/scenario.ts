// The steps of test/native/scenario.json over the package. Arguments and answers are texts.
import type { ReactNativeMessenger } from "../../messenger.ts"
import type { SignetClient } from "../../open-signet.ts"
import { decodeUtf8, encodeUtf8 } from "../../text-encoding.ts"

type Step = (...args: string[]) => Promise<string | readonly string[] | undefined>

const done = async (work: Promise<unknown>): Promise<undefined> => {
  await work
  return undefined
}

/** @param messenger Throws until it is open. */
export const scenarioSteps = (
  signet: () => SignetClient,
  messenger: () => ReactNativeMessenger,
): Readonly<Record<string, Step>> => ({
  async signIn(nonce = "", idToken = "") {
    return (await signet().login({ provider: "IDP_A", nonce, credential: { idToken } })).user.principalId
  },
  createDirect: async (userId = "") => (await messenger().createDirectConversation(userId)).id,
  createGroup: async (...userIds) => (await messenger().createGroupConversation(userIds)).id,
  add: (id = "", userId = "") => done(messenger().addMembers(id, [userId])),
  remove: (id = "", userId = "") => done(messenger().removeMembers(id, [userId])),
  send: (id = "", text = "") => done(messenger().send(id, encodeUtf8(text))),
  sync: () => done(messenger().sync()),
  async read(id = "") {
    const entries = await messenger().timeline(id)
    return entries.flatMap((entry) => (entry.is === "message" ? [decodeUtf8(entry.plaintext)] : []))
  },
  members: async (id = "") => (await messenger().conversation(id))?.memberUserIds ?? [],
  renewKeys: (id = "") => done(messenger().refreshKeys(id)),
  sendFile: async (id = "", path = "") => String((await messenger().sendAttachment(id, path)).seq),
  saveFile: (id = "", seq = "", path = "") => done(messenger().saveAttachment(id, BigInt(seq), path)),
  safetyNumber: async (userId = "") => (await messenger().verification.of(userId)).safetyNumber,
  markVerified: async (userId = "", compared = "") =>
    (await messenger().verification.markVerified(userId, compared)).status,
  showQr: (userId = "") => messenger().verification.qrCode(userId),
  scan: async (userId = "", scanned = "") => (await messenger().verification.scan(userId, scanned)).status,
  requestHistory: async () => (await messenger().history.requestByQr()).qr,
  grantHistory: (scanned = "") => done(messenger().history.grantByQr(scanned)),
  runHistory: () => done(messenger().history.run()),
  async backUp(path = "") {
    const recoveryKey = await messenger().backup.createRecoveryKey()
    await messenger().backup.exportTo(path, { recoveryKey })
    return recoveryKey
  },
  recover: async (path = "", recoveryKey = "") =>
    String((await messenger().backup.restore(path, { recoveryKey })).importedEntries),
  signOut: () => done(signet().logout()),
})
