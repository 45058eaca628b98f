import type { StampEnd } from "../keys/sealing.ts"

/** A stamp key: the current one, or one from before a rotation of the sealing key. */
export interface StampKey {
  readonly keyId: string
  /** The checkpoint after which its stamps are invalid; null for the current key. */
  readonly until: StampEnd | null
}

/** Cryptography of the audit log. Its keys are outside the database. */
export interface AuditCrypto {
  /** SHA-256 of the text as UTF-8: 32 bytes. */
  digest(text: string): Uint8Array
  /**
   * HMAC-SHA-256, 32 bytes. The key is outside the database, so write access to the database is not enough to forge a
   * stamp.
   */
  stamp(text: string): Uint8Array
  /** Returns the key that made the stamp; undefined if none of the service's keys did. Compares in constant time. */
  stampedBy(text: string, stamp: Uint8Array): StampKey | undefined
  /** All keys with valid stamps, the current one first. */
  stampKeys(): readonly StampKey[]
  /** Compares in constant time. */
  equal(a: Uint8Array, b: Uint8Array): boolean
  /** Creates a data key for an owner's personal fields and seals it. */
  newDataKey(owner: string): DataKey
  /** Undefined if decryption fails. */
  openDataKey(owner: string, sealed: Uint8Array): Uint8Array | undefined
  /** Seals with AES-256-GCM under a data key; the label is additional authenticated data. */
  seal(key: Uint8Array, label: string, text: string): Uint8Array
  /** Undefined if decryption fails. */
  open(key: Uint8Array, label: string, sealed: Uint8Array): string | undefined
}

interface DataKey {
  /** 32 bytes. */
  readonly key: Uint8Array
  /** The key, sealed under the service's sealing key. */
  readonly sealed: Uint8Array
}
