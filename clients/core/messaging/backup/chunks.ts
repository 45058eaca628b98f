// Keys and seals of a backup's chunks; see proto/signet/client/v1/backup.proto.
import { expand, extract } from "@noble/hashes/hkdf.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { concat, equalBytes, utf8 } from "@signet/canonical/bytes"
import { type Argon2Parameters, stretchPassphrase } from "../../passphrase-key.ts"
import type { Random } from "../../ports.ts"
import { MessagingError } from "../errors.ts"
import { damaged, keyCheckBytes } from "./header.ts"
import { parseRecoveryKey, recoveryKeyBytes } from "./recovery-key.ts"

/** The secret that opens a backup: the text of its recovery key, or its passphrase. */
export type BackupSecret = { readonly recoveryKey: string } | { readonly passphrase: string }

/** The most plaintext bytes of a chunk. */
export const maxChunkBytes = 4_194_304
export const tagBytes = 16
const keyBytes = 32

/** The secret of one backup, from which all its keys are derived. Wiped by `wipe`. */
export interface BackupKey {
  readonly check: Uint8Array
  /** Seals chunks from the first one on, or opens them. */
  chunks(header: Uint8Array): ChunkChain
  /**
   * As `chunks`, for a transfer that is continued at a position. A random salt in each chunk is part of its key, so that
   * a store that was restored to an earlier state never seals twice under one key.
   */
  salted(header: Uint8Array, from: ChunkPosition, random: Random): ChunkChain
  wipe(): void
}

/** Seals or opens the chunks of a backup in order. A chunk opens at its own position, after its predecessor. */
interface ChunkChain {
  seal(plaintext: Uint8Array<ArrayBuffer>): Promise<Uint8Array>
  /** @throws MessagingError BACKUP_TAMPERED */
  open(sealed: Uint8Array<ArrayBuffer>): Promise<Uint8Array>
}

/** The number of chunks before, and the SHA-256 of the last of them. */
interface ChunkPosition {
  readonly sequence: bigint
  readonly previous: Uint8Array
}

interface Derivation {
  readonly backupId: Uint8Array
  /** Present for a backup under a passphrase. */
  readonly passphrase?: (Argon2Parameters & { readonly salt: Uint8Array }) | undefined
}

/**
 * Derives the key of a backup.
 *
 * @throws MessagingError BACKUP_KEY_INVALID; BACKUP_KEY_WRONG for a recovery key instead of a passphrase, or the reverse
 */
export async function deriveKey({ backupId, passphrase }: Derivation, secret: BackupSecret): Promise<BackupKey> {
  if ("passphrase" in secret) {
    if (passphrase === undefined) throw wrongKey("it needs a recovery key")
    return keyOf(await stretchPassphrase(secret.passphrase, passphrase, passphrase.salt), backupId)
  }
  const key = parseRecoveryKey(secret.recoveryKey)
  if (passphrase !== undefined) throw wrongKey("it needs a passphrase")
  return keyOf(key, backupId)
}

/** @param material 32 bytes, which are wiped. */
export function keyOf(material: Uint8Array, backupId: Uint8Array): BackupKey {
  if (material.length !== recoveryKeyBytes) throw new RangeError("the secret of a backup has 32 bytes")
  const secret = extract(sha256, material, backupId)
  material.fill(0)
  return {
    check: expand(sha256, secret, utf8("signet backup key check v1"), keyCheckBytes),
    chunks: (header) => chunkChain(secret, header, { label: "signet backup chunk v1" }),
    salted: (header, from, random) => chunkChain(secret, header, { label: "signet history chunk v1", from, random }),
    wipe: () => void secret.fill(0),
  }
}

/** @throws MessagingError BACKUP_KEY_WRONG */
export function checkKey({ check }: BackupKey, keyCheck: Uint8Array): void {
  if (!equalBytes(check, keyCheck)) throw wrongKey("it was made with another one")
}

interface ChainOptions {
  readonly label: string
  readonly from?: ChunkPosition
  /** Absent for chunks without a salt. */
  readonly random?: Random
}

const saltBytes = 16

function chunkChain(secret: Uint8Array, header: Uint8Array, { label, from, random }: ChainOptions): ChunkChain {
  const headerHash = sha256(header)
  let sequence = from?.sequence ?? 0n
  let previous = new Uint8Array(keyBytes)
  if (from !== undefined && sequence > 0n) previous.set(from.previous)

  /** Returns the key and parameters of the next chunk: each key is used for one chunk, so the nonce is constant. */
  async function next(salt: Uint8Array) {
    const place = new Uint8Array(8)
    new DataView(place.buffer).setBigUint64(0, sequence)
    const raw = new Uint8Array(expand(sha256, secret, concat(utf8(label), place, salt), keyBytes))
    const key = await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"])
    raw.fill(0)
    const additionalData = new Uint8Array(concat(headerHash, previous))
    return { key, parameters: { name: "AES-GCM", iv: new Uint8Array(12), additionalData } }
  }

  function advance(sealed: Uint8Array): void {
    previous = new Uint8Array(sha256(sealed))
    sequence++
  }

  return {
    async seal(plaintext) {
      const salt = random?.bytes(saltBytes) ?? new Uint8Array()
      const { key, parameters } = await next(salt)
      const sealed = new Uint8Array(
        concat(salt, new Uint8Array(await crypto.subtle.encrypt(parameters, key, plaintext))),
      )
      advance(sealed)
      return sealed
    },
    async open(sealed) {
      const start = random === undefined ? 0 : saltBytes
      const { key, parameters } = await next(sealed.subarray(0, start))
      const opened = await crypto.subtle.decrypt(parameters, key, sealed.subarray(start)).catch((cause: unknown) => {
        throw damaged(`chunk ${sequence} does not match its tag`, cause)
      })
      advance(sealed)
      return new Uint8Array(opened)
    },
  }
}

const wrongKey = (rule: string): MessagingError =>
  new MessagingError("BACKUP_KEY_WRONG", `the recovery key or passphrase does not open the backup: ${rule}`)
