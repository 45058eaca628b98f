// A backup of a conversation with many messages, written and restored into an empty store of SQLite.
import type { Messenger } from "@signet/client-node/messaging"
import { exportBackup, restoreBackup } from "@signet/client-node/messaging/backup"
import type { Person } from "./people.ts"

/** @returns Rows of the report. @param count The number of messages, which names the rows. */
export async function backingUp(from: Messenger, to: Person, count: number) {
  const { recoveryKey, bytes } = exportBackup(from)
  const file: Uint8Array[] = []
  const exportedMs = performance.now()
  for await (const piece of bytes) file.push(piece)
  const restoredMs = performance.now()
  const messenger = await to.open()
  const openedMs = performance.now()
  const { importedEntries } = await restoreBackup(messenger, file, { recoveryKey })
  const endMs = performance.now()
  await messenger.close()
  if (importedEntries < count) throw new Error("not all was restored")
  const row = (name: string, ms: number) => ({ name, ms, perSecond: (importedEntries / ms) * 1_000 })
  const size = file.reduce((sum, { length }) => sum + length, 0)
  return [
    row(`${count} messages backed up`, restoredMs - exportedMs),
    row(`${count} messages restored`, endMs - openedMs),
    { name: "a message in the backup", bytes: size / importedEntries },
  ]
}
