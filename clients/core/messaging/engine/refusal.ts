/** The reasons of the engine's refusals. The given state stays usable, because states are immutable. */
export type MlsReason =
  /** The engine failed its self-test at start, so it must not be used. */
  | "ENGINE_UNSAFE"
  | "MLS_MALFORMED"
  /** The bytes decode, but encoding the value gives other bytes (RFC 9420 section 2.1.2). */
  | "MLS_NON_CANONICAL"
  | "MLS_TOO_LARGE"
  | "MLS_WRONG_WIRE_FORMAT"
  | "MLS_WRONG_SUITE"
  | "MLS_WRONG_GROUP"
  /** A consumed epoch or generation. */
  | "REPLAY"
  /** A message that this state has made. */
  | "OWN_REPLAY"
  /** A message that this leaf signed and this state did not make: the state is older than one that was used. */
  | "OWN_UNKNOWN"
  /** An epoch or generation too far ahead. */
  | "EPOCH_GAP"
  | "MLS_BAD_SENDER"
  | "MLS_BAD_SIGNATURE"
  /** A proposal type, or a mixture of types, that V1 forbids. */
  | "MLS_BAD_PROPOSALS"
  | "MLS_BAD_KEY_PACKAGE"
  | "MLS_BAD_LEAF"
  | "MLS_BAD_PATH"
  | "MLS_BAD_TREE"
  | "MLS_BAD_WELCOME"
  | "MLS_BAD_CONFIRMATION"
  | "MLS_UNDECRYPTABLE"
  | "MLS_GROUP_FULL"
  /** The caller's judge did not answer "accept". */
  | "COMMIT_REJECTED"
  | "STATE_TAMPERED"
  | "STATE_NEWER_VERSION"

/** A refusal of the engine. The message holds no secret and no plaintext. */
export class MlsError extends Error {
  readonly reason: MlsReason

  constructor(reason: MlsReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = "MlsError"
    this.reason = reason
  }
}

/** @throws MlsError unless `condition` holds. */
export function demand(condition: boolean, reason: MlsReason, message: string): asserts condition {
  if (!condition) throw new MlsError(reason, message)
}
