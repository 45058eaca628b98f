/**
 * Seals a client's secrets: keys stay with the platform, callers store sealed bytes. No implementation falls back to
 * plaintext, and none deletes anything because of an error.
 */
export interface SecretBox {
  describe(): SecretBoxDescription
  /**
   * Creates the key of a scope if it is missing. Otherwise verifies that it is the created one.
   *
   * @throws SecretBoxError
   */
  createKey(scope: SecretScope): Promise<void>
  /**
   * @param purpose The kind of bytes, such as "refresh-token": they open only for the same purpose.
   * @returns Bytes to store anywhere: they name their box, scope and key, and open only with those.
   * @throws SecretBoxError KEY_MISSING before createKey.
   */
  seal(scope: SecretScope, purpose: string, plaintext: Uint8Array): Promise<Uint8Array>
  /**
   * @throws SecretBoxError WRONG_USER for bytes of another scope, SECURE_STORE_CHANGED for bytes of another box or a
   *   lost key, STATE_TAMPERED for changed bytes or another purpose.
   */
  open(scope: SecretScope, purpose: string, sealed: Uint8Array): Promise<Uint8Array>
  /** Creates a new key for later seals; bytes of earlier keys still open. */
  rotate(scope: SecretScope): Promise<void>
  /** Deletes every key of the scope: their bytes never open again. Only on the user's explicit request. */
  destroy(scope: SecretScope): Promise<void>
  /**
   * The same for one scope and frequent use: its keys are read once and cached in memory, as non-extractable objects,
   * until released. A store that is locked, or keys that another process destroys, are noticed at the next `hold`.
   * Absent if keys never leave the platform.
   */
  hold?(scope: SecretScope): HeldBox
}

/** A secret box for one scope with cached keys. It refuses what the box refuses. */
export interface HeldBox {
  seal(purpose: string, plaintext: Uint8Array): Promise<Uint8Array>
  open(purpose: string, sealed: Uint8Array): Promise<Uint8Array>
  /** Drops the cached keys. A later call reads them again. */
  release(): void
}

/** The owner of secrets. An absent part is verified as absent. */
export interface SecretScope {
  readonly tenant?: string
  readonly app: string
  readonly user?: string
  readonly device?: string
}

export interface SecretBoxDescription {
  /** Bound into all sealed bytes: "secret-service", "macos-keychain", "windows-credentials", "passphrase", … */
  readonly backend: string
  readonly version: number
  /** True if keys are non-extractable in hardware. */
  readonly hardware: boolean
  /** True if keys are not part of a backup. */
  readonly deviceBound: boolean
  /** True if keys survive a restart. */
  readonly persistent: boolean
}

export const secretBoxReasons = [
  /** No secure store exists, or only a rejected one. */
  "SECURE_STORE_UNAVAILABLE",
  /** The store is another one than the one that sealed the bytes, or it lost the key. */
  "SECURE_STORE_CHANGED",
  /** The store is locked: the user must unlock it. */
  "LOCKED",
  "WRONG_USER",
  "WRONG_PASSPHRASE",
  "KEY_MISSING",
  /** The platform invalidated the key, for example after a change of the screen lock. */
  "KEY_INVALIDATED",
  "STATE_TAMPERED",
  /** A later version of this program wrote it. */
  "STATE_NEWER_VERSION",
  /** The page is not in a secure context. */
  "INSECURE_CONTEXT",
] as const

export type SecretBoxReason = (typeof secretBoxReasons)[number]

/** The message is for the user, and never contains a secret. */
export class SecretBoxError extends Error {
  override readonly name = "SecretBoxError"
  readonly reason: SecretBoxReason

  constructor(reason: SecretBoxReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** By name, because separately built packages have a class each. */
export const isSecretBoxError = (error: unknown, reason?: SecretBoxReason): error is SecretBoxError =>
  error instanceof Error &&
  error.name === "SecretBoxError" &&
  "reason" in error &&
  (reason === undefined || error.reason === reason)
