// Parses secret keys from settings.
import type { Pepper } from "./secrets.ts"

/** Parses 32 bytes in base64. Adds an invalid setting to the problems, which never contain a value. */
export function parseKey(name: string, text: string | undefined, problems: string[]): Uint8Array | undefined {
  if (text === undefined) return undefined
  const key = Buffer.from(text, "base64")
  if (key.length === 32) return new Uint8Array(key)
  problems.push(`${name} must be 32 bytes in base64.`)
  return undefined
}

/** Parses `version:key,…` with keys of 32 bytes. */
export function parsePeppers(text: string | undefined, problems: string[]): Pepper[] {
  const parsed = (text?.split(",") ?? []).flatMap((entry) => {
    const [version = "", encoded] = entry.trim().split(":")
    const key = parseKey("Each key in SIGNET_PEPPERS", encoded, problems)
    if (/^\d{1,4}$/.test(version) && key) return [{ version: Number(version), key }]
    if (key) problems.push("SIGNET_PEPPERS must look like 2:base64,1:base64.")
    return []
  })
  if (text !== undefined && parsed.length === 0) problems.push("SIGNET_PEPPERS must look like 2:base64,1:base64.")
  if (new Set(parsed.map(({ version }) => version)).size !== parsed.length) {
    problems.push("SIGNET_PEPPERS has a version twice: each version must be unique.")
  }
  return parsed
}
