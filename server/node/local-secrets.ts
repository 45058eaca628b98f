// Secrets of the development profile: generated at the first start and stored beside its data, readable by the owner
// only.
import { randomBytes } from "node:crypto"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Config } from "./config.ts"

/** @throws Error if the file exists but is malformed. */
export function loadLocalSecrets(folder: string): NonNullable<Config["secrets"]> {
  const file = join(folder, "development-secrets.json")
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const fresh = JSON.stringify({
    sealingKey: randomBytes(32).toString("base64"),
    pepper: randomBytes(32).toString("base64"),
  })
  try {
    writeFileSync(file, `${fresh}\n`, { flag: "wx", mode: 0o600 })
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
  }
  const kept: unknown = JSON.parse(readFileSync(file, "utf8"))
  return {
    sealingKey: keyIn(kept, "sealingKey", file),
    nextSealingKey: null,
    peppers: [{ version: 1, key: keyIn(kept, "pepper", file) }],
  }
}

function keyIn(kept: unknown, name: string, file: string): Uint8Array {
  const text =
    typeof kept === "object" && kept !== null && name in kept ? (kept as Record<string, unknown>)[name] : undefined
  const key = typeof text === "string" ? Buffer.from(text, "base64") : undefined
  if (key?.length !== 32) throw new Error(`${file} does not have the secrets that were written to it`)
  return key
}
