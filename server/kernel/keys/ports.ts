// What the handlers are handed of keys: those that sign, those that hash and seal. Implemented by server/keys.
import type { RefreshTokenId } from "../ids.ts"
import type { KeyPurpose, SignedType } from "./purposes.ts"
import type { SealedLabel } from "./sealed-columns.ts"

/** Signs tokens and statements, and publishes the keys that they are verified with: a set a purpose. */
export interface KeyRing {
  /** A compact JWS with the header {alg: ES256, typ, kid}, by the keys of the type's purpose. */
  sign(typ: SignedType, claims: Readonly<Record<string, unknown>>): string
  /** NEXT, CURRENT and PREVIOUS of the purpose, ACCESS when none is named; at most four, public members only. */
  jwks(purpose?: KeyPurpose): readonly PublicJwk[]
}

export interface PublicJwk {
  readonly kty: "EC"
  readonly crv: "P-256"
  readonly x: string
  readonly y: string
  readonly kid: string
  readonly alg: "ES256"
  readonly use: "sig"
}

/** A signing key as it is kept: the public half as it is published, the private half sealed under the service's key. */
export interface SigningKeyRecord {
  kid: string
  purpose: KeyPurpose
  status: "NEXT" | "CURRENT" | "PREVIOUS" | "RETIRED" | "COMPROMISED"
  publicJwk: PublicJwk
  privateSealed: Uint8Array
  createdAtMs: number
  activatedAtMs: number | null
  retiredAtMs: number | null
}

export interface SigningKeys {
  /** All that were ever kept, oldest first. */
  list(): Promise<readonly SigningKeyRecord[]>
  /**
   * Locks the set, writes what the pure function returns (inserted or updated by kid; what it leaves out stays), and
   * returns all keys as they are then. Two processes never both rotate: the second sees what the first did. The work
   * may run again after a serialization failure.
   */
  change(work: (keys: readonly SigningKeyRecord[]) => readonly SigningKeyRecord[]): Promise<readonly SigningKeyRecord[]>
}

/** What a keyed hash is of. */
export type SecretPurpose =
  | "refresh-token"
  | "retry-key"
  | "page-token"
  | "pat"
  | "service-secret"
  | "rate-limit"
  | "invitation"
  | "email"
  | "device-token"

/** Hashing and sealing under secrets that are outside the database. */
export interface Secrets {
  /** HMAC-SHA-256 under the newest pepper. Purposes never give the same hash. */
  hash(purpose: SecretPurpose, text: string): Uint8Array
  /** The same under every pepper in use, newest first: for look-ups. */
  hashes(purpose: SecretPurpose, text: string): readonly Uint8Array[]
  /** Compares in constant time. */
  equal(a: Uint8Array, b: Uint8Array): boolean
  /** SHA-256, for what is no secret of ours. */
  digest(text: string): Uint8Array
  /**
   * AES-256-GCM under HKDF-SHA-256 of two secrets that only the caller has: a refresh token and its retry key. Neither
   * the operator nor a reader of the database can open it.
   */
  sealSuccessor(of: { tokenId: RefreshTokenId; token: string; retryKey: string }, successor: string): Uint8Array
  /** Undefined when it does not open. */
  openSuccessor(
    of: { tokenId: RefreshTokenId; token: string; retryKey: string },
    sealed: Uint8Array,
  ): string | undefined
  /** AES-256-GCM under the service's own key, bound to a label: for provider secrets and signing keys at rest. */
  seal(label: SealedLabel, plaintext: Uint8Array): Uint8Array
  /** Undefined when it does not open. */
  open(label: SealedLabel, sealed: Uint8Array): Uint8Array | undefined
  /** The id of the key that seals now: another after a rotation. */
  sealsWith(): string
}
