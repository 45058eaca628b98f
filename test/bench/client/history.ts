// The history of a conversation with many messages, transferred to a new device into an empty store of SQLite.
import type { Messenger } from "@signet/client-node/messaging"
import { grantHistoryByQr, requestHistoryByQr, runHistory } from "@signet/client-node/messaging/history"
import type { Person } from "./people.ts"

/** @returns Rows of the report. CPU is that of both devices. @param count The number of messages, which names the rows. */
export async function transferring(from: Messenger, to: Person, conversationId: string, count: number) {
  const messenger = await to.open()
  await from.sync()
  await messenger.sync()
  const { qr } = await requestHistoryByQr(messenger)
  const startMs = performance.now()
  const startCpu = process.cpuUsage()
  await grantHistoryByQr(from, qr)
  await Promise.all([runHistory(from), runHistory(messenger)])
  const ms = performance.now() - startMs
  const { user, system } = process.cpuUsage(startCpu)
  const [first] = await messenger.timeline(conversationId, { limit: 1 })
  await messenger.close()
  if (first?.imported === undefined) throw new Error("not all was transferred")
  const cpuMs = (user + system) / 1_000
  return [
    { name: `${count} messages transferred to a new device`, ms, perSecond: (count / ms) * 1_000 },
    { name: `${count} messages transferred, CPU of both devices`, ms: cpuMs, perSecond: (count / cpuMs) * 1_000 },
  ]
}
