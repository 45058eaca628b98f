import { sha256 } from "@noble/hashes/sha2.js"
import { concat, utf8 } from "./bytes.ts"

/** Domain separation: different labels never yield the same hash input. */
export type HashLabel =
  | "issuer"
  | "key-id"
  | "device-credential"
  | "membership-proof"
  | "commit-receipt"
  | "device-list"
  | "issuer-keys"
  | "commit"
  | "content"
  | "group-info"
  | "tree-blob"
  | "confirmation-tag"
  | "device-fingerprint/v1"
  | "method"
  | "request"

const prefix = utf8("SIGNET1H")
const zero = Uint8Array.of(0)

/** H(label, bytes) = SHA-256("SIGNET1H" 00 label 00 bytes): 32 bytes. */
export function hash(label: HashLabel, bytes: Uint8Array): Uint8Array {
  return sha256(concat(prefix, zero, utf8(label), zero, bytes))
}

/** The 16-byte id of an issuer, computed from its URL exactly as configured. */
export function issuerIdOf(issuerUrl: string): Uint8Array {
  return hash("issuer", utf8(issuerUrl)).subarray(0, 16)
}

/** The 8-byte id of a public key. */
export function keyIdOf(publicKey: Uint8Array): Uint8Array {
  return hash("key-id", publicKey).subarray(0, 8)
}

/** The 32-byte tag of a group's state in one epoch, computed from its confirmation tag (RFC 9420 section 6.1). */
export function stateTagOf(confirmationTag: Uint8Array): Uint8Array {
  return hash("confirmation-tag", confirmationTag)
}
