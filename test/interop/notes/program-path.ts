import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { refusals } from "@signet/kernel/errors"
import { root } from "./workspace.ts"

/** Where a program that was built is kept: its name has a digest of all that it is made of. */
export function programPath(language: string, ...sources: readonly string[]): string {
  const hash = createHash("sha256").update(JSON.stringify(refusals))
  hash.update(readFileSync(join(import.meta.dirname, "notes.proto")))
  for (const folder of [...sources, join(root, "proto")]) {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      // What Maven leaves behind is made of the rest.
      if (entry.isFile() && !path.includes("/target/")) hash.update(path.slice(root.length)).update(readFileSync(path))
    }
  }
  return join(root, "node_modules/.cache/signet-interop", `notes-${language}-${hash.digest("hex").slice(0, 16)}`)
}
