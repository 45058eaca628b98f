package dev.signet.guard;

/** Finds the key that a token names. Called by many threads. */
@FunctionalInterface
public interface KeySet {
  /** The key; KEY_UNKNOWN: no such key is published; UNAVAILABLE: the keys cannot be had. */
  Result<VerifyKey> find(String kid);

  /** A public key for ES256. */
  @FunctionalInterface
  interface VerifyKey {
    /** Whether the signature (r and s, 64 bytes) is of the data. */
    boolean verify(byte[] signature, byte[] data);
  }
}
