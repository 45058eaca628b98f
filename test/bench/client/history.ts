// The history of a conversation with many messages: backed up, restored by another device, and transferred to a new one.
// Each device has a process of its own, and a store of SQLite.
import { idOf } from "../../../clients/core/messaging/ids.ts"
import { type Cost, type RunningDevice, startDevice } from "./device-process.ts"
import type { Person } from "./people.ts"

/** The aim for 100,000 messages: both devices of a transfer together. */
const aimMs = 60_000
const aimCount = 100_000

/** @returns Rows of the report. A ratio is to the aim: below 1 is better. @param count The number of messages. */
export async function movingHistory(old: Person, count: number) {
  const conversationId = idOf("cnv", crypto.getRandomValues(new Uint8Array(16)))
  const asked = { conversationId, count, backupFile: `${old.file}-backup` }
  const start = (person: Person, task: Parameters<typeof startDevice>[1]["task"], hears?: Promise<string>) =>
    startDevice(person, { ...asked, task }, hears)
  await (await start(old, "fill")).cost

  const exporting = await start(old, "export")
  const exported = await costOf(exporting)
  const restoring = await old.withNewDevice()
  const restored = await costOf(await start(restoring, "restore", exporting.said))

  const receiving = await start(await restoring.withNewDevice(), "request")
  const sending = await start(old, "grant", receiving.said)
  const [sent, received] = await Promise.all([costOf(sending), costOf(receiving)])

  const row = (name: string, { ms, cpuMs, ...memory }: Cost) => ({
    name: `${count} messages ${name}`,
    ...{ ms, perSecond: (count / ms) * 1_000, cpuMs, ...memory },
  })
  const cpuMs = sent.cpuMs + received.cpuMs
  return [
    row("backed up", exported),
    row("restored", restored),
    row("transferred, the old device", sent),
    row("transferred, the new device", received),
    { name: `${count} messages transferred, of the aim`, ratio: (cpuMs / count) * (aimCount / aimMs), cpuMs },
  ]
}

async function costOf({ cost }: RunningDevice): Promise<Cost> {
  const reached = await cost
  if (reached === undefined) throw new Error("a device did not measure its work")
  return reached
}
