// What a team in another language starts from: a copy of proto/ and a service of its own.
import { execFileSync } from "node:child_process"
import { cpSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export const root: string = join(import.meta.dirname, "..", "..", "..")
const buf = join(root, "node_modules/.bin/buf")

/** Creates a folder with the .proto files, for buf. The caller removes it. */
export function makeWorkspace(): string {
  const folder = mkdtempSync(join(tmpdir(), "signet-notes-"))
  cpSync(join(root, "proto"), join(folder, "proto"), { recursive: true })
  cpSync(join(import.meta.dirname, "notes.proto"), join(folder, "notes/signet/example/notes/v1/notes.proto"))
  const modules = ["proto", "notes"].map((path) => ({ path }))
  writeFileSync(join(folder, "buf.yaml"), JSON.stringify({ version: "v2", modules }))
  return folder
}

/** Runs buf on the workspace. */
export function runBuf(workspace: string, ...parts: string[]): void {
  execFileSync(buf, parts, { cwd: workspace, stdio: ["ignore", "ignore", "inherit"] })
}
