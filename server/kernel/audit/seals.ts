import type { StampEnd } from "../keys/sealing.ts"

/** A key that stamps, or that stamped before a rotation of the sealing key. */
export interface StampKey {
  readonly keyId: string
  /** Where its stamps end; null while they do not. */
  readonly until: StampEnd | null
}

/** What the audit is sealed, stamped and chained with. The keys behind it are outside the database. */
export interface AuditSeals {
  /** SHA-256 of the text as UTF-8: 32 bytes. */
  digest(text: string): Uint8Array
  /** HMAC-SHA-256 under a key that the database has not: who only writes to the database makes none. 32 bytes. */
  stamp(text: string): Uint8Array
  /** The key that made the stamp; undefined where none of the service's did. Compares in constant time. */
  stampedBy(text: string, stamp: Uint8Array): StampKey | undefined
  /** Every key whose stamps count, the one that stamps first. */
  stampKeys(): readonly StampKey[]
  /** Compares in constant time. */
  equal(a: Uint8Array, b: Uint8Array): boolean
  /** A new key for somebody's personal fields, and the same as it is kept. */
  newDataKey(owner: string): DataKey
  /** Undefined when it does not open. */
  openDataKey(owner: string, sealed: Uint8Array): Uint8Array | undefined
  /** AES-256-GCM under a data key, bound to a label. */
  seal(key: Uint8Array, label: string, text: string): Uint8Array
  /** Undefined when it does not open. */
  open(key: Uint8Array, label: string, sealed: Uint8Array): string | undefined
}

export interface DataKey {
  /** 32 bytes. */
  readonly key: Uint8Array
  /** The same under the service's sealing key. */
  readonly sealed: Uint8Array
}
