package dev.signet.client;

/**
 * A secret box of the program: it wraps the keys that seal a client's data, such as by a key of the platform's secure store.
 *
 * <p>libsignet makes the keys, and stores them wrapped in the data folder. It calls the box on the client's thread: when it
 * opens the keys of a scope, not for each row. A box blocks that thread, prompts nobody, and does not call the client. It
 * deletes no wrapping key but in {@link #forget}, and replaces one only in {@link #wrap} with {@code isFirst}.
 *
 * <p>An exception other than {@link SecretBoxException} counts as SECURE_STORE_UNAVAILABLE, and its text is dropped.
 */
public interface SecretBox {
  /**
   * Describes the box. Its backend and version are bound into all sealed bytes.
   *
   * @return the same description each time
   */
  Description describe();

  /**
   * Wraps keys. They are authenticated together with the scope.
   *
   * @param scope names the tenant, app, user and device that own the keys
   * @param keys some 100 bytes, which the library wipes after the call
   * @param isFirst true if no keys of the scope are stored: the box creates a wrapping key, in the place of one that an
   *     interrupted call may have left. False: the box uses the wrapping key of the scope, and creates none
   * @return bytes that {@link #unwrap} accepts, in an array that the library wipes
   * @throws SecretBoxException KEY_INVALIDATED if the wrapping key is gone or unusable; LOCKED if the user must unlock
   *     it; SECURE_STORE_UNAVAILABLE for another fault of the store
   */
  byte[] wrap(String scope, byte[] keys, boolean isFirst) throws SecretBoxException;

  /**
   * Unwraps keys.
   *
   * @param scope as in {@link #wrap}
   * @param wrapped what {@link #wrap} returned
   * @return the keys, in an array that the library wipes
   * @throws SecretBoxException as {@link #wrap}, and STATE_TAMPERED for changed bytes or those of another scope
   */
  byte[] unwrap(String scope, byte[] wrapped) throws SecretBoxException;

  /**
   * Deletes the wrapping key of the scope, if there is one. What it wrapped never opens again.
   *
   * @param scope as in {@link #wrap}
   * @throws SecretBoxException SECURE_STORE_UNAVAILABLE if the key may still exist
   */
  void forget(String scope) throws SecretBoxException;

  /**
   * The promises of a box.
   *
   * @param backend a name of 1 to 64 characters of {@code [a-z0-9-]}
   * @param version of the box's format, 1 to 255
   * @param isHardware true if the keys that seal data never leave hardware. A box that wraps them has them in memory: false
   * @param isDeviceBound true if the wrapping key is in no backup
   * @param isPersistent true if the wrapping key survives a restart
   */
  record Description(String backend, int version, boolean isHardware, boolean isDeviceBound, boolean isPersistent) {
    /**
     * Checks the description.
     *
     * @throws IllegalArgumentException for a backend or a version out of range
     */
    public Description {
      if (!backend.matches("[a-z0-9-]{1,64}")) throw new IllegalArgumentException("backend must match [a-z0-9-]{1,64}");
      if (version < 1 || version > 255) throw new IllegalArgumentException("version must be 1 to 255");
    }
  }
}
