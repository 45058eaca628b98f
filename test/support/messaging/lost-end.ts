// A service that has lost the newest envelopes of a conversation.
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { run } from "../../../server/store/postgres/sql.ts"
import type { Deployment } from "../edge-server.ts"

/** Removes the newest envelopes of a conversation from the service's data, and lowers the cursors of its devices. */
export async function loseNewest({ inProcess, atRest }: Deployment, id: string, count: number): Promise<void> {
  if (inProcess !== undefined) return loseInDatabase(inProcess.store.db, id, count)
  if (atRest === undefined) throw new Error("no access to the service's data")
  let found = 0
  await atRest((folder) => {
    for (const file of databasesIn(folder)) found += loseInObject(file, id, count)
  })
  if (found !== 1) throw new Error(`${found} objects have the conversation`)
}

async function loseInDatabase(db: Parameters<typeof run>[0], id: string, count: number): Promise<void> {
  for (const text of [
    "delete from conversation_log where conversation_id = $1 and seq > (select head_seq - $2 from conversation where id = $1)",
    "update device_cursor set processed_seq = (select head_seq - $2 from conversation where id = $1) where conversation_id = $1",
    "update conversation set head_seq = head_seq - $2 where id = $1",
  ]) {
    await run(db, text, [id, count])
  }
}

const databasesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".sqlite"))
    .map((name) => join(folder, name))

/** @returns 1 if the file is that of the conversation's object, and else 0. The end of an object's log is its head. */
function loseInObject(file: string, id: string, count: number): number {
  const db = new DatabaseSync(file)
  try {
    const isConversation = db.prepare("select 1 from sqlite_master where name = 'head' and sql like '%mls_group_id%'")
    if (isConversation.get() === undefined) return 0
    if (db.prepare("select 1 from head where id = ?").get(id) === undefined) return 0
    db.prepare("delete from log where seq > (select max(seq) - ? from log)").run(count)
    db.exec("update cursor set processed_seq = min(processed_seq, (select max(seq) from log))")
    return 1
  } finally {
    db.close()
  }
}
