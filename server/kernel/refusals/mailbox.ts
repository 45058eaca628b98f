import type { Refusal } from "./refusal.ts"

/** Refusals of envelopes of service mailboxes. */
export const mailboxRefusals = {
  ENVELOPE_MALFORMED: { code: "unauthenticated", status: 401, message: "the envelope is malformed" },
  ENVELOPE_SIGNATURE_INVALID: {
    code: "unauthenticated",
    status: 401,
    message: "the envelope's signature is not valid",
  },
  ENVELOPE_CERTIFICATE_INVALID: {
    code: "unauthenticated",
    status: 401,
    message: "the sender's certificate is not valid",
  },
  ENVELOPE_CERTIFICATE_EXPIRED: {
    code: "unauthenticated",
    status: 401,
    message: "the sender's certificate has expired",
  },
  ENVELOPE_KEY_REVOKED: { code: "unauthenticated", status: 401, message: "the sender's key was revoked" },
  ENVELOPE_EXPIRED: { code: "unauthenticated", status: 401, message: "the envelope has expired" },
  ENVELOPE_NOT_YET_VALID: { code: "unauthenticated", status: 401, message: "the envelope is not valid yet" },
  ENVELOPE_TOO_LONG_LIVED: {
    code: "unauthenticated",
    status: 401,
    message: "the envelope's lifetime exceeds seven days",
  },
  ENVELOPE_MESSAGE_ALTERED: {
    code: "unauthenticated",
    status: 401,
    message: "the message does not match its envelope",
  },
  ENVELOPE_CHAIN_BROKEN: {
    code: "unauthenticated",
    status: 401,
    message: "the envelope does not match the previous envelope",
  },
  ENVELOPE_SENDER_NOT_ALLOWED: {
    code: "permission_denied",
    status: 403,
    message: "the sender is not allowed to post to this mailbox",
  },
  ENVELOPE_MAILBOX_MISMATCH: { code: "permission_denied", status: 403, message: "the envelope is for another mailbox" },
  ENVELOPE_REPLAYED: { code: "permission_denied", status: 403, message: "the envelope was already processed" },
  ENVELOPE_HOP_LIMIT: {
    code: "permission_denied",
    status: 403,
    message: "the message was forwarded more than 16 times",
  },
  ENVELOPE_NOT_FORWARDERS: {
    code: "permission_denied",
    status: 403,
    message: "only the receiver of an envelope can forward it",
  },
  ENVELOPE_SCOPES_WIDENED: {
    code: "permission_denied",
    status: 403,
    message: "the envelope has scopes that it was not granted",
  },
} as const satisfies Record<string, Refusal>
