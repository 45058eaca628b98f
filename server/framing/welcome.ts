import { concat, toHex } from "@signet/canonical/bytes"
import { readCipherSuite } from "./key-package.ts"
import { maxBytes, maxInside } from "./limits.ts"
import { openMessage } from "./message.ts"
import { finish, list, opaque, type Reader, refuse, since } from "./reader.ts"
import { FramingOversized } from "./refusal.ts"
import { keyOf, vectorBytes } from "./writer.ts"

/** RFC 9420 section 12.4.3.1. */
export interface Welcome {
  readonly secrets: readonly EncryptedGroupSecrets[]
  /**
   * The encoded parts before and after the secrets: version, wire format and suite; and the sealed GroupInfo with its
   * length.
   */
  readonly head: Uint8Array
  readonly tail: Uint8Array
}

/** The secrets that one joining member decrypts. */
interface EncryptedGroupSecrets {
  readonly bytes: Uint8Array
  /** KeyPackageRef, 32 bytes. */
  readonly newMember: Uint8Array
}

/**
 * Parses an MLSMessage of wire format mls_welcome. Two secrets for one key package are refused. @throws FramingRefused
 */
export function parseWelcome(bytes: Uint8Array, most: number = maxBytes.welcome): Welcome {
  const reader = openMessage(bytes, most, "mls_welcome")
  readCipherSuite(reader)
  const head = since(reader, 0)
  const secretsAt = reader.at
  const seen = new Set<string>()
  const secrets = list(reader, "secrets", maxInside.groupSecrets, (inside) => {
    const start = inside.at
    const secret = readSecrets(inside)
    const name = keyOf(secret.newMember)
    if (seen.has(name)) refuse(inside, "MLS_MALFORMED", "new_member: twice", start)
    seen.add(name)
    return secret
  })
  if (secrets.length === 0) refuse(reader, "MLS_MALFORMED", "secrets: for nobody", secretsAt)
  const tailAt = reader.at
  const { length } = opaque(reader, "encrypted_group_info")
  if (length <= tagBytes) refuse(reader, "MLS_MALFORMED", "encrypted_group_info", tailAt)
  finish(reader, "the welcome")
  return { secrets, head, tail: since(reader, tailAt) }
}

const tagBytes = 16

function readSecrets(reader: Reader): EncryptedGroupSecrets {
  const start = reader.at
  const newMember = opaque(reader, "new_member", 32)
  opaque(reader, "kem_output", 32)
  const ciphertextAt = reader.at
  const { length } = opaque(reader, "encrypted_group_secrets")
  if (length <= tagBytes) refuse(reader, "MLS_MALFORMED", "encrypted_group_secrets", ciphertextAt)
  return { bytes: since(reader, start), newMember }
}

/** Encodes the Welcome with the secrets of one joining member only (section 12.4.3.1). */
function welcomeFor({ head, tail }: Welcome, secrets: EncryptedGroupSecrets): Uint8Array {
  return concat(head, vectorBytes(secrets.bytes), tail)
}

/**
 * Splits a Welcome into one for each joining member, by KeyPackageRef in hexadecimal.
 *
 * Each contains the whole sealed GroupInfo, so the largest size is checked before the first is built.
 */
export function splitWelcome(
  bytes: Uint8Array,
  most: number = maxBytes.welcome,
  maxForOne: number = maxBytes.welcomeForOne,
): ReadonlyMap<string, Uint8Array> {
  const welcome = parseWelcome(bytes, most)
  const fixed = welcome.head.length + welcome.tail.length
  // The length of the secrets takes at most four bytes.
  const largest = welcome.secrets.reduce((size, secret) => Math.max(size, fixed + 4 + secret.bytes.length), 0)
  if (largest > maxForOne) throw new FramingOversized("mls_welcome for one", maxForOne)
  return new Map(welcome.secrets.map((secret) => [toHex(secret.newMember), welcomeFor(welcome, secret)]))
}
