// One device in a process of its own, so that its processor time and its memory are its own. It does one task.

import { once } from "node:events"
import { createReadStream, createWriteStream } from "node:fs"
import { create } from "@bufbuild/protobuf"
import type { Messenger } from "@signet/client-node/messaging"
import { exportBackup, restoreBackup } from "@signet/client-node/messaging/backup"
import { grantHistoryByQr, requestHistoryByQr, runHistory } from "@signet/client-node/messaging/history"
import { BackupChunkV1_HistorySchema } from "@signet/proto/client/v1/backup"
import { importHistory } from "../../../clients/core/messaging/backup/import-history.ts"
import { contextOf } from "../../../clients/core/messaging/opened-messengers.ts"
import type { DeviceOrder, DeviceReply } from "./device-process.ts"
import { personOf } from "./people.ts"

const asked = process.argv[2]
if (asked === undefined) throw new Error("a task is needed")
const order: DeviceOrder = JSON.parse(asked)
const { task, count, conversationId, backupFile } = order
const replyWith = (reply: DeviceReply): void => void process.send?.(reply)
const text = new TextEncoder().encode("as long as most messages are")
const perChunk = 1_000

const messenger = await personOf(
  order.baseUrl,
  {
    userId: order.userId,
    accessToken: order.accessToken,
    refresh: () => heard("renew"),
    again: () => Promise.reject(new Error("this process has one session")),
  },
  order.file,
  { rootKey: Buffer.from(order.rootKey, "hex"), folder: "" },
).open()
await messenger.sync()
await tasks()[task](messenger)
await messenger.close()
process.disconnect?.()

function tasks(): Record<DeviceOrder["task"], (messenger: Messenger) => Promise<void>> {
  return { fill, export: backUp, restore, request, grant }
}

/** Writes the entries of one conversation, without a service: only the store has them. */
async function fill(opened: Messenger): Promise<void> {
  const context = contextOf(opened)
  const from = { userId: order.userId, deviceId: opened.deviceId, plaintext: text }
  const conversation = { conversationId, mlsGroupId: new Uint8Array(16), processedSeq: BigInt(count) }
  const nowMs = BigInt(Date.now())
  for (let start = 0; start < count; start += perChunk) {
    const entries = Array.from({ length: Math.min(perChunk, count - start) }, (_, i) => ({
      seq: BigInt(start + i + 1),
      record: { atMs: nowMs, entry: { case: "message", value: from } } as const,
    }))
    await importHistory(context, create(BackupChunkV1_HistorySchema, { conversation, entries }), nowMs)
  }
  replyWith({ is: "done", cost: undefined })
}

async function backUp(opened: Messenger): Promise<void> {
  await measured(async () => {
    const { recoveryKey, bytes } = await exportBackup(opened)
    const file = createWriteStream(backupFile)
    for await (const piece of bytes) if (!file.write(piece)) await once(file, "drain")
    file.end()
    await once(file, "finish")
    replyWith({ is: "said", text: recoveryKey })
  })
}

async function restore(opened: Messenger): Promise<void> {
  const recoveryKey = await heard("wait")
  await measured(async () => {
    const { importedEntries } = await restoreBackup(opened, createReadStream(backupFile), { recoveryKey })
    if (importedEntries !== count) throw new Error(`${importedEntries} of ${count} entries were restored`)
  })
}

async function request(opened: Messenger): Promise<void> {
  const { qr } = await requestHistoryByQr(opened)
  replyWith({ is: "said", text: qr })
  await measured(() => runHistory(opened))
  const [first] = await opened.timeline(conversationId, { limit: 1 })
  if (first?.seq !== 1n || first.imported === undefined) throw new Error("not all was transferred")
}

async function grant(opened: Messenger): Promise<void> {
  const qr = await heard("wait")
  await measured(async () => {
    await grantHistoryByQr(opened, qr)
    await runHistory(opened)
  })
}

/** Replies with the cost of the work. Peak memory is that of the process so far. */
async function measured(work: () => Promise<void>): Promise<void> {
  const used = () => {
    globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const usedBytes = used()
  const peak = () => process.resourceUsage().maxRSS * 1_024
  const [beforeBytes, startMs, startCpu] = [peak(), performance.now(), process.cpuUsage()]
  await work()
  const { user, system } = process.cpuUsage(startCpu)
  const times = { ms: performance.now() - startMs, cpuMs: (user + system) / 1_000 }
  const cost = { ...times, beforeBytes, peakBytes: peak(), keptBytes: Math.max(0, used() - usedBytes) }
  replyWith({ is: "done", cost })
}

/** Asks the bench for a text, and waits for it. */
async function heard(wanted: "renew" | "wait"): Promise<string> {
  const answer = once(process, "message")
  replyWith({ is: wanted })
  const [text] = await answer
  return String(text)
}
