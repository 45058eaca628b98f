// The file of a passphrase box: the key derivation's parameters, and the entries sealed under the derived key.

import { SecretBoxError } from "@signet/client"
import { fromBase64url, toBase64url } from "../../core/platform.ts"

/** Parameters of Argon2id (RFC 9106). */
export interface KdfParameters {
  readonly memoryKiB: number
  readonly passes: number
  readonly lanes: number
  /** 16 bytes in base64url. */
  readonly salt: string
}

export interface PassphraseFile {
  readonly kdf: KdfParameters
  readonly canary: Uint8Array
  /** Sealed keys by scope. */
  readonly entries: ReadonlyMap<string, Uint8Array>
}

const format = 1
/** Lower values are not from this program, and higher ones would stall the machine. */
const limits = { memoryKiB: [19_456, 1_048_576], passes: [2, 16], lanes: [1, 4] } as const

export function formatFile({ kdf, canary, entries }: PassphraseFile): Uint8Array {
  const sealed = Object.fromEntries([...entries].map(([scope, bytes]) => [scope, toBase64url(bytes)]))
  return new TextEncoder().encode(`${JSON.stringify({ format, kdf, canary: toBase64url(canary), entries: sealed })}\n`)
}

/** @throws SecretBoxError STATE_TAMPERED, STATE_NEWER_VERSION */
export function parseFile(bytes: Uint8Array): PassphraseFile {
  try {
    const json: unknown = JSON.parse(new TextDecoder("utf8", { fatal: true }).decode(bytes))
    const version = member(json, "format")
    if (typeof version === "number" && version > format) {
      throw new SecretBoxError("STATE_NEWER_VERSION", "a later version of this program wrote the passphrase file")
    }
    if (version !== format) throw new Error("no such format")
    const kdf = member(json, "kdf")
    const entries = member(json, "entries")
    if (typeof entries !== "object" || entries === null) throw new Error("no entries")
    return {
      kdf: {
        memoryKiB: within(kdf, "memoryKiB"),
        passes: within(kdf, "passes"),
        lanes: within(kdf, "lanes"),
        salt: toBase64url(sixteen(member(kdf, "salt"))),
      },
      canary: fromBase64url(text(member(json, "canary"))),
      entries: new Map(Object.entries(entries).map(([scope, sealed]) => [scope, fromBase64url(text(sealed))])),
    }
  } catch (error) {
    if (error instanceof SecretBoxError) throw error
    throw new SecretBoxError("STATE_TAMPERED", "the file is not a passphrase file, or was changed", { cause: error })
  }
}

function within(json: unknown, name: keyof typeof limits): number {
  const value = member(json, name)
  const [least, most] = limits[name]
  if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value
  throw new Error(`${name} is not within its limits`)
}

function sixteen(value: unknown): Uint8Array {
  const bytes = fromBase64url(text(value))
  if (bytes.length !== 16) throw new Error("the salt has 16 bytes")
  return bytes
}

function text(value: unknown): string {
  if (typeof value !== "string") throw new Error("a text is missing")
  return value
}

function member(json: unknown, name: string): unknown {
  return typeof json === "object" && json !== null && name in json ? (json as Record<string, unknown>)[name] : undefined
}
