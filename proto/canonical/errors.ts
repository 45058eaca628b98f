/**
 * Why signed or canonical bytes are refused: a closed list, identical in every language.
 *
 * CPB_ concerns the encoding; the other prefixes concern the encoded content. README.md defines which code is reported
 * if several apply.
 */
export const canonicalCodes = [
  // The encoding (canonical.ts).
  "CPB_SCHEMA",
  "CPB_TOO_LARGE",
  "CPB_TRUNCATED",
  "CPB_NON_MINIMAL_VARINT",
  "CPB_TRAILING",
  "CPB_UNKNOWN_FIELD",
  "CPB_WIRE_TYPE",
  "CPB_FIELD_ORDER",
  "CPB_DUPLICATE_FIELD",
  "CPB_DEFAULT_ENCODED",
  "CPB_RANGE",
  "CPB_LENGTH",
  "CPB_ASCII",
  "CPB_SET_ORDER",
  "CPB_REQUIRED",
  "CPB_NOT_REPRODUCED",
  // The issuer key set (issuer-keys.ts).
  "ISSUER_KEYS_MALFORMED",
  "ISSUER_KEYS_UNKNOWN_ROOT",
  "ISSUER_KEYS_BAD_SIGNATURE",
  "ISSUER_KEYS_WRONG_ISSUER",
  "ISSUER_KEYS_NOT_YET_VALID",
  "ISSUER_KEYS_EXPIRED",
  "ISSUER_KEYS_ROLLBACK",
  "ISSUER_KEYS_FORK",
  // The device credential (device-credential.ts).
  "CRED_MALFORMED",
  "CRED_UNKNOWN_ISSUER_KEY",
  "CRED_ISSUER_KEY_PURPOSE",
  "CRED_BAD_SIGNATURE",
  "CRED_WRONG_ISSUER",
  "CRED_ISSUER_KEY_NOT_VALID",
  "CRED_WRONG_TENANT",
  "CRED_WRONG_APP",
  "CRED_LEAF_KEY_MISMATCH",
  "CRED_NOT_YET_VALID",
  "CRED_EXPIRED",
  "CRED_REVOKED",
  // The membership proof (membership-proof.ts, membership-effect.ts).
  "PROOF_MALFORMED",
  "PROOF_UNKNOWN_ISSUER_KEY",
  "PROOF_ISSUER_KEY_PURPOSE",
  "PROOF_BAD_SIGNATURE",
  "PROOF_WRONG_ISSUER",
  "PROOF_ISSUER_KEY_NOT_VALID",
  "PROOF_WRONG_TENANT",
  "PROOF_WRONG_APP",
  "PROOF_WRONG_CONVERSATION",
  "PROOF_WRONG_GROUP",
  "PROOF_STALE",
  "PROOF_FUTURE_EPOCH",
  "PROOF_FORK",
  "PROOF_NOT_YET_VALID",
  "PROOF_EXPIRED",
  "PROOF_MISSING",
  "PROOF_UNEXPECTED",
  "PROOF_SUBJECTS_MISMATCH",
  "PROOF_WRONG_COMMITTER",
  "GHOST_MEMBER",
  // The commit receipt (commit-receipt.ts).
  "RECEIPT_MALFORMED",
  "RECEIPT_UNKNOWN_ISSUER_KEY",
  "RECEIPT_ISSUER_KEY_PURPOSE",
  "RECEIPT_BAD_SIGNATURE",
  "RECEIPT_WRONG_ISSUER",
  "RECEIPT_ISSUER_KEY_NOT_VALID",
  "RECEIPT_WRONG_CONVERSATION",
  "RECEIPT_WRONG_GROUP",
  "RECEIPT_WRONG_EPOCH",
  "RECEIPT_WRONG_SEQ",
  "RECEIPT_WRONG_COMMIT",
  "RECEIPT_WRONG_PROOF",
  "RECEIPT_FORK",
  "RECEIPT_TIME_BACKWARDS",
  "RECEIPT_FROM_FUTURE",
  "RECEIPT_STATE_FORK",
  // The claim ticket (claim-ticket.ts).
  "TICKET_MALFORMED",
  "TICKET_UNKNOWN_ISSUER_KEY",
  "TICKET_ISSUER_KEY_PURPOSE",
  "TICKET_BAD_SIGNATURE",
  "TICKET_WRONG_ISSUER",
  "TICKET_ISSUER_KEY_NOT_VALID",
  "TICKET_WRONG_TENANT",
  "TICKET_WRONG_APP",
  "TICKET_WRONG_CONVERSATION",
  "TICKET_WRONG_DEVICE",
  "TICKET_NOT_YET_VALID",
  "TICKET_EXPIRED",
  // The device list (device-list.ts).
  "LIST_MALFORMED",
  "LIST_UNKNOWN_ISSUER_KEY",
  "LIST_ISSUER_KEY_PURPOSE",
  "LIST_BAD_SIGNATURE",
  "LIST_WRONG_ISSUER",
  "LIST_ISSUER_KEY_NOT_VALID",
  "LIST_WRONG_TENANT",
  "LIST_WRONG_APP",
  "LIST_WRONG_USER",
  "LIST_FROM_FUTURE",
  "LIST_ROLLBACK",
  "DEVICE_LIST_FORK",
  // The request for a device credential (device-request.ts).
  "REQUEST_MALFORMED",
  "REQUEST_KEY_MISMATCH",
  "REQUEST_BAD_SIGNATURE",
  "REQUEST_WRONG_ISSUER",
  "REQUEST_WRONG_TENANT",
  "REQUEST_WRONG_APP",
  "REQUEST_WRONG_USER",
  "REQUEST_NOT_YET_VALID",
  "REQUEST_EXPIRED",
  // The proof that a device makes a call (device-proof.ts).
  "DEVICE_PROOF_MALFORMED",
  "DEVICE_PROOF_KEY_MISMATCH",
  "DEVICE_PROOF_BAD_SIGNATURE",
  "DEVICE_PROOF_WRONG_DEVICE",
  "DEVICE_PROOF_WRONG_METHOD",
  "DEVICE_PROOF_WRONG_BODY",
  "DEVICE_PROOF_NOT_YET_VALID",
  "DEVICE_PROOF_EXPIRED",
  // The AAD frame and the conversation binding (envelope-aad.ts).
  "AAD_MALFORMED",
  "AAD_WRONG_CONVERSATION",
  "AAD_WRONG_KIND",
  "BINDING_MALFORMED",
  "BINDING_WRONG_TENANT",
  "BINDING_WRONG_APP",
  "BINDING_WRONG_CONVERSATION",
  "BINDING_WRONG_KIND",
  // The QR code (safety-qr.ts).
  "QR_MALFORMED",
  "QR_VERSION",
  "QR_WRONG_TENANT",
  "QR_WRONG_APP",
  "QR_SAME_SIDE",
  "QR_WRONG_USER",
  "QR_OTHER_LIST_VERSION",
  "QR_MISMATCH",
] as const

/** Why signed or canonical bytes are refused. */
export type CanonicalCode = (typeof canonicalCodes)[number]

/**
 * The only error of this package.
 *
 * `message` is the code and the name of a field or rule, never bytes or ids. `cause` is the CPB_ error behind a
 * *_MALFORMED code.
 */
export class CanonicalError extends Error {
  readonly code: CanonicalCode

  constructor(code: CanonicalCode, detail = "", options: { cause?: unknown } = {}) {
    super(detail === "" ? code : `${code}: ${detail}`, options)
    this.name = "CanonicalError"
    this.code = code
  }
}

/** Throws `code` if the condition is false. */
export function ensure(holds: boolean, code: CanonicalCode, detail?: string): asserts holds {
  if (!holds) throw new CanonicalError(code, detail)
}

/** Runs `decodeStep` and converts its refusal to `code`, with the refusal as cause. */
export function rethrowAs<T>(code: CanonicalCode, decodeStep: () => T): T {
  try {
    return decodeStep()
  } catch (error) {
    if (error instanceof CanonicalError) throw new CanonicalError(code, error.message, { cause: error })
    throw error
  }
}
