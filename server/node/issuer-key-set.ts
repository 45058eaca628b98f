// Sources of the issuer's key set: a file that was signed offline, or in the development profile a local root that
// signs in this process.
import { randomBytes } from "node:crypto"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { Clock } from "@signet/kernel/ports"
import { type IssuerPublicKey, rootPublicKey, type SignedKeySet, signKeySet } from "../keys/root-key.ts"

export type LoadKeySet = (keys: readonly IssuerPublicKey[]) => Promise<SignedKeySet | undefined>

/**
 * Reads the file each time, so that a new set needs no restart. Without a path there is no set and messaging is
 * disabled.
 */
export function keySetFile(path: string | null): LoadKeySet {
  return async () => (path === null ? undefined : parseKeySet(await readFile(path, "utf8"), path))
}

/** Formats the file that `keys root sign` writes. */
export function formatKeySet({ rootKey, issuerKeySet }: SignedKeySet): string {
  return `${JSON.stringify({ rootKey: text(rootKey), issuerKeySet: text(issuerKeySet) }, null, 2)}\n`
}

/** @throws Error if the text is not such a file. */
function parseKeySet(json: string, name: string): SignedKeySet {
  const kept: unknown = JSON.parse(json)
  const rootKey = bytesIn(kept, "rootKey")
  const issuerKeySet = bytesIn(kept, "issuerKeySet")
  if (rootKey?.length !== 32 || issuerKeySet === undefined) throw new Error(`${name} has no signed key set`)
  return { rootKey, issuerKeySet }
}

/** Uses a root key in the data folder, generated at the first start. Signs any set of keys for a year. */
export function developmentKeySet(folder: string, issuer: string, clock: Clock): LoadKeySet & { rootKey: Uint8Array } {
  const seed = loadDevelopmentRoot(folder)
  let last: { version: bigint; names: string; signed: SignedKeySet } | undefined
  const load: LoadKeySet = async (keys) => {
    const names = keys.map(({ publicKey }) => text(publicKey)).join()
    if (last?.names === names) return last.signed
    const nowMs = clock.nowMs()
    const now = BigInt(Math.floor(nowMs / 1_000))
    // Two sets in one second need different versions.
    const version = last !== undefined && last.version >= now ? last.version + 1n : now
    const signed = await signKeySet({ seed, issuer, keys, version, nowMs, days: 365 })
    last = { version, names, signed }
    return signed
  }
  return Object.assign(load, { rootKey: rootPublicKey(seed) })
}

function loadDevelopmentRoot(folder: string): Uint8Array {
  const file = join(folder, "development-root.json")
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  try {
    const fresh = JSON.stringify({ seed: text(randomBytes(32)) })
    writeFileSync(file, `${fresh}\n`, { flag: "wx", mode: 0o600 })
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
  }
  const seed = bytesIn(JSON.parse(readFileSync(file, "utf8")), "seed")
  if (seed?.length !== 32) throw new Error(`${file} does not have the root key that was written to it`)
  return seed
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url")

function bytesIn(kept: unknown, name: string): Uint8Array | undefined {
  if (typeof kept !== "object" || kept === null || !(name in kept)) return undefined
  const value = (kept as Record<string, unknown>)[name]
  return typeof value === "string" ? new Uint8Array(Buffer.from(value, "base64url")) : undefined
}
