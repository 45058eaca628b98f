// The file of a passphrase box: the key derivation's parameters, and the entries sealed under the derived key.

import { SecretBoxError } from "@signet/client"
import { type Argon2Parameters, wrongArgon2Parameter } from "../../core/passphrase-key.ts"
import { fromBase64url, toBase64url } from "../../core/platform.ts"

export interface KdfParameters extends Argon2Parameters {
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
      kdf: { ...parametersIn(kdf), salt: toBase64url(sixteen(member(kdf, "salt"))) },
      canary: fromBase64url(text(member(json, "canary"))),
      entries: new Map(Object.entries(entries).map(([scope, sealed]) => [scope, fromBase64url(text(sealed))])),
    }
  } catch (error) {
    if (error instanceof SecretBoxError) throw error
    throw new SecretBoxError("STATE_TAMPERED", "the file is not a passphrase file, or was changed", { cause: error })
  }
}

function parametersIn(json: unknown): Argon2Parameters {
  const [memoryKiB, passes, lanes] = [member(json, "memoryKiB"), member(json, "passes"), member(json, "lanes")]
  const wrong = wrongArgon2Parameter({ memoryKiB, passes, lanes })
  if (wrong !== undefined) throw new Error(`${wrong} is not within its limits`)
  return { memoryKiB: Number(memoryKiB), passes: Number(passes), lanes: Number(lanes) }
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

const member = (json: unknown, name: string): unknown => Object(json)[name]
