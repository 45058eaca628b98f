/**
 * Where a client keeps its secrets: keys stay with the platform, callers have sealed bytes. No implementation falls back
 * to plaintext, and none deletes anything because of an error.
 */
export interface SecretBox {
  describe(): SecretBoxDescription
  /**
   * Makes the key of a scope where there is none. With a key there, checks that it is the one that was made.
   *
   * @throws SecretBoxError
   */
  createKey(scope: SecretScope): Promise<void>
  /**
   * @param purpose What the bytes are, for example "refresh-token": they open for the same purpose only.
   * @returns Bytes to keep anywhere: they say which box, scope and key they belong to, and open with those only.
   * @throws SecretBoxError KEY_MISSING before createKey.
   */
  seal(scope: SecretScope, purpose: string, plaintext: Uint8Array): Promise<Uint8Array>
  /**
   * @throws SecretBoxError WRONG_USER for bytes of another scope, SECURE_STORE_CHANGED for those of another box or of a
   * key that is gone, STATE_TAMPERED for what was changed or sealed for another purpose.
   */
  open(scope: SecretScope, purpose: string, sealed: Uint8Array): Promise<Uint8Array>
  /** A new key seals from now on; what earlier keys sealed still opens. */
  rotate(scope: SecretScope): Promise<void>
  /** Forgets every key of the scope: what they sealed never opens again. Only ever on the user's word. */
  destroy(scope: SecretScope): Promise<void>
  /**
   * The same for one scope and somebody who seals and opens a lot: its keys are read once, and stay in memory, as
   * objects that give no bytes out, until they are let go of. A store that is locked meanwhile, or keys that another
   * process destroys, are noticed at the next `hold`. Absent where keys do not leave the platform.
   */
  hold?(scope: SecretScope): HeldBox
}

/** A secret box at hand, for one scope. What it refuses is what the box refuses. */
export interface HeldBox {
  seal(purpose: string, plaintext: Uint8Array): Promise<Uint8Array>
  open(purpose: string, sealed: Uint8Array): Promise<Uint8Array>
  /** Forgets the keys that are in memory. They are read again if anything comes after it. */
  release(): void
}

/** Whose secrets. A part that is absent is verified as absent. */
export interface SecretScope {
  readonly tenant?: string
  readonly app: string
  readonly user?: string
  readonly device?: string
}

export interface SecretBoxDescription {
  /** Pinned in all that is sealed: "secret-service", "macos-keychain", "windows-credentials", "passphrase", … */
  readonly backend: string
  readonly version: number
  /** Keys are in hardware that does not give them out. */
  readonly hardware: boolean
  /** Keys do not leave this device with a backup. */
  readonly deviceBound: boolean
  /** Keys are there after a restart. */
  readonly persistent: boolean
}

export const secretBoxReasons = [
  /** There is no secure store here, or only one that is refused. */
  "SECURE_STORE_UNAVAILABLE",
  /** It is another store than the one that sealed this, or it lost the key. */
  "SECURE_STORE_CHANGED",
  /** The store is there and locked: the user unlocks it. */
  "LOCKED",
  "WRONG_USER",
  "WRONG_PASSPHRASE",
  "KEY_MISSING",
  /** The platform ended the key, as after a change of the screen lock. */
  "KEY_INVALIDATED",
  "STATE_TAMPERED",
  /** A later version of this program wrote it. */
  "STATE_NEWER_VERSION",
  /** A page that is not in a secure context. */
  "INSECURE_CONTEXT",
] as const

export type SecretBoxReason = (typeof secretBoxReasons)[number]

/** The message is for the user: it never holds a secret. */
export class SecretBoxError extends Error {
  override readonly name = "SecretBoxError"
  readonly reason: SecretBoxReason

  constructor(reason: SecretBoxReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** By name, because packages that were built apart have a class each. */
export const isSecretBoxError = (error: unknown, reason?: SecretBoxReason): error is SecretBoxError =>
  error instanceof Error &&
  error.name === "SecretBoxError" &&
  "reason" in error &&
  (reason === undefined || error.reason === reason)
