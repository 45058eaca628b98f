// A process that writes to a folder store until it is killed, and prints the acknowledged transactions.
// node folder-writer.ts FOLDER
import { writeSync } from "node:fs"
import { openFolderStore } from "../folder-store.ts"

const [, , folder = ""] = process.argv
const store = await openFolderStore(folder)
for (;;) {
  const { generation } = await store.read("cnv_a", [])
  const value = new TextEncoder().encode(String(generation + 1n))
  const done = await store.transact("cnv_a", generation, [
    { op: "put", table: "state", key: "one", value },
    { op: "put", table: "tree", key: "other", value },
    { op: "put", table: "timeline", key: String(generation).padStart(20, "0"), value },
  ])
  if (done === "ok") writeSync(1, `${generation + 1n}\n`)
}
