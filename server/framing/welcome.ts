import { concat, toHex } from "@signet/canonical/bytes"
import { readCipherSuite } from "./key-package.ts"
import { maxBytes, maxInside } from "./limits.ts"
import { openMessage } from "./message.ts"
import { finish, list, opaque, type Reader, refuse, since } from "./reader.ts"
import { FramingRefused } from "./refusal.ts"
import { keyOf, vectorBytes } from "./writer.ts"

/** RFC 9420 section 12.4.3.1. */
export interface Welcome {
  readonly secrets: readonly EncryptedGroupSecrets[]
  /** Version, wire format and suite; and the sealed GroupInfo with its length. */
  readonly head: Uint8Array
  readonly tail: Uint8Array
}

/** What one newcomer opens. */
export interface EncryptedGroupSecrets {
  readonly bytes: Uint8Array
  /** KeyPackageRef, 32 bytes. */
  readonly newMember: Uint8Array
}

/** Reads an MLSMessage of wire format mls_welcome. No two secrets are for the same key package. @throws FramingRefused */
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

/** The Welcome that holds one newcomer's secrets and no others: each receives only its own (section 12.4.3.1). */
export function welcomeFor({ head, tail }: Welcome, secrets: EncryptedGroupSecrets): Uint8Array {
  return concat(head, vectorBytes(secrets.bytes), tail)
}

/**
 * A Welcome for each newcomer, by its KeyPackageRef in hexadecimal.
 *
 * Each has the whole sealed GroupInfo, so the size of one is compared before the first is made.
 */
export function splitWelcome(
  bytes: Uint8Array,
  most: number = maxBytes.welcome,
  mostForOne: number = maxBytes.welcomeForOne,
): ReadonlyMap<string, Uint8Array> {
  const welcome = parseWelcome(bytes, most)
  const fixed = welcome.head.length + welcome.tail.length
  // Four bytes for the length of the secrets are never too few.
  const largest = welcome.secrets.reduce((size, secret) => Math.max(size, fixed + 4 + secret.bytes.length), 0)
  if (largest > mostForOne) throw new FramingRefused("MLS_TOO_LARGE", "mls_welcome for one", mostForOne)
  return new Map(welcome.secrets.map((secret) => [toHex(secret.newMember), welcomeFor(welcome, secret)]))
}
