/** A value or its promise: Node's crypto is synchronous, WebCrypto is not. */
export type Eventually<T> = T | Promise<T>

/** An X25519 key pair, both halves 32 bytes (RFC 7748). */
export interface DhKeyPair {
  readonly privateKey: Uint8Array
  readonly publicKey: Uint8Array
}

/**
 * The primitives of MLS cipher suite 1 (RFC 9420 section 17.1) and no others:
 * SHA-256, HKDF-SHA256, AES-128-GCM, X25519, Ed25519.
 *
 * Implementations are deterministic except key generation, retain no input, and throw for a key of the wrong length.
 */
export interface Suite {
  digest(data: Uint8Array): Eventually<Uint8Array>
  /** HMAC-SHA256, 32 bytes. */
  mac(key: Uint8Array, data: Uint8Array): Eventually<Uint8Array>
  /** HKDF-Extract (RFC 5869 section 2.2); an empty salt is 32 zero bytes. */
  extract(salt: Uint8Array, input: Uint8Array): Eventually<Uint8Array>
  /** HKDF-Expand (RFC 5869 section 2.3). @param length at most 8160 bytes. */
  expand(key: Uint8Array, info: Uint8Array, length: number): Eventually<Uint8Array>
  /** AES-128-GCM; the 16-byte tag follows the ciphertext. */
  seal(key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, plaintext: Uint8Array): Eventually<Uint8Array>
  /** @throws if the tag does not match. */
  open(key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, ciphertext: Uint8Array): Eventually<Uint8Array>
  /** @param privateKey 32 bytes; generated when absent. */
  dhKeyPair(privateKey?: Uint8Array): Eventually<DhKeyPair>
  /** X25519. @throws if the result is all zero (RFC 9180 section 7.1.4). */
  dh(privateKey: Uint8Array, publicKey: Uint8Array): Eventually<Uint8Array>
  /** Ed25519. @param key a 32-byte seed, or a reference that `withIdentities` resolves. */
  sign(key: Uint8Array, message: Uint8Array): Eventually<Uint8Array>
  /** False for a wrong signature and for a malformed key alike. */
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): Eventually<boolean>
  /** A new Ed25519 seed and its public key, 32 bytes each. */
  signatureKeyPair(): Eventually<{ readonly seed: Uint8Array; readonly publicKey: Uint8Array }>
  /**
   * Stores the key of a seed, or of `signatureKeyPair`, outside the rows. Present where `sign` and `signatureKeyPair` have
   * references instead of seeds. Repeated calls have the same result.
   *
   * @returns The key's reference.
   */
  importSeed?(seed: Uint8Array, publicKey: Uint8Array): Eventually<Uint8Array>
  random(length: number): Uint8Array
}

/** Signing keys that the platform stores, and that the rows of a device refer to. */
export type KeyReferences = Required<Pick<Suite, "sign" | "signatureKeyPair" | "importSeed">>
