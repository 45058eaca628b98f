// Interfaces to keys: signing, hashing and sealing. Implemented by server/keys.
import type { RefreshTokenId } from "../ids.ts"
import type { KeyPurpose, SignedType } from "./purposes.ts"
import type { SealedLabel } from "./sealed-columns.ts"

/** Signs tokens and statements, and publishes a separate set of verification keys for each purpose. */
export interface KeyRing {
  /** Returns a compact JWS with the header {alg: ES256, typ, kid}, signed by the current key of the type's purpose. */
  sign(typ: SignedType, claims: Readonly<Record<string, unknown>>): string
  /** The public NEXT, CURRENT and PREVIOUS keys of the purpose (default ACCESS), at most four. */
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

/** A stored signing key: the published public half, and the private half sealed under the service's key. */
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
  /** All keys ever stored, oldest first. */
  list(): Promise<readonly SigningKeyRecord[]>
  /**
   * Locks the set, writes the keys that the pure function returns (insert or update by kid, others stay), and returns
   * all keys. The lock prevents two processes from both rotating. `work` may run again after a serialization failure.
   */
  change(work: (keys: readonly SigningKeyRecord[]) => readonly SigningKeyRecord[]): Promise<readonly SigningKeyRecord[]>
}

/** The kind of text that a keyed hash is computed over. */
type SecretPurpose =
  | "refresh-token"
  | "retry-key"
  | "page-token"
  | "pat"
  | "service-secret"
  | "rate-limit"
  | "invitation"
  | "email"
  | "device-token"

/** Hashes and seals with secrets that are outside the database. */
export interface Secrets {
  /** HMAC-SHA-256 under the newest pepper. Different purposes never yield the same hash. */
  hash(purpose: SecretPurpose, text: string): Uint8Array
  /** The hashes under every pepper in use, newest first, for lookups. */
  hashes(purpose: SecretPurpose, text: string): readonly Uint8Array[]
  /** Compares in constant time. */
  equal(a: Uint8Array, b: Uint8Array): boolean
  /** SHA-256, for values that are not secrets of this service. */
  digest(text: string): Uint8Array
  /**
   * AES-256-GCM under a key derived (HKDF-SHA-256) from two secrets that only the client has: a refresh token and its
   * retry key. Neither the operator nor a reader of the database can open it.
   */
  sealSuccessor(of: { tokenId: RefreshTokenId; token: string; retryKey: string }, successor: string): Uint8Array
  /** Undefined if decryption fails. */
  openSuccessor(
    of: { tokenId: RefreshTokenId; token: string; retryKey: string },
    sealed: Uint8Array,
  ): string | undefined
  /** AES-256-GCM under the service's sealing key, bound to a label: for provider secrets and signing keys at rest. */
  seal(label: SealedLabel, plaintext: Uint8Array): Uint8Array
  /** Undefined if decryption fails. */
  open(label: SealedLabel, sealed: Uint8Array): Uint8Array | undefined
  /** Id of the current sealing key. A rotation changes it. */
  sealsWith(): string
}
