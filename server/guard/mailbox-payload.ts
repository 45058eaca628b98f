// Envelopes as bytes: what is signed, what is hashed, and how what was verified is read.
import { fromBinary, type Message } from "@bufbuild/protobuf"
import { maxHops } from "@signet/kernel/authz/envelope"
import type { Reason } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import {
  type EnvelopePayload,
  EnvelopePayloadSchema,
  type PostedEnvelope,
  PostedEnvelopeSchema,
} from "@signet/proto/authz/v1/mailbox"

/** A message, and a chain of envelopes beside it. */
const maxBytes = 1_572_864
const maxMessageBytes = 1_048_576

type Bytes = Uint8Array<ArrayBuffer>

const label = new TextEncoder().encode("signet actor envelope v1\0")
const keyLabel = new TextEncoder().encode("signet envelope key v1\0")

/** What an envelope's signature is over. */
export const signedBytes = (payload: Uint8Array): Bytes => joined(label, payload)

/** What a service signs to show that a key is its own: the id of its account. */
export const proofBytes = (serviceAccountId: string): Bytes =>
  joined(keyLabel, new TextEncoder().encode(serviceAccountId))

function joined(prefix: Uint8Array, rest: Uint8Array): Bytes {
  const bytes = new Uint8Array(prefix.length + rest.length)
  bytes.set(prefix)
  bytes.set(rest, prefix.length)
  return bytes
}

export async function sha256(bytes: Uint8Array): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(bytes)))
}

export const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

/** What a transport delivered, not verified yet. */
export function readPosted(bytes: Uint8Array): PostedEnvelope | Reason {
  if (bytes.length > maxBytes) return "ENVELOPE_MALFORMED"
  // A copy: what is verified and handled later are views of it, whatever the transport does with its own meanwhile.
  const posted = decoded(() => fromBinary(PostedEnvelopeSchema, new Uint8Array(bytes)))
  if (posted === undefined || hasUnknown(posted) || posted.chain.some(hasUnknown)) return "ENVELOPE_MALFORMED"
  if (posted.chain.length === 0 || posted.message.length > maxMessageBytes) return "ENVELOPE_MALFORMED"
  // Before anybody pays for so many signatures.
  return posted.chain.length > maxHops + 1 ? "ENVELOPE_HOP_LIMIT" : posted
}

/** A payload whose signature was verified. */
export function readPayload(bytes: Uint8Array): EnvelopePayload | undefined {
  const payload = decoded(() => fromBinary(EnvelopePayloadSchema, bytes))
  return payload !== undefined && !hasUnknown(payload) && isSound(payload) ? payload : undefined
}

function isSound(payload: EnvelopePayload): boolean {
  return (
    /^[A-Za-z0-9_-]{16,64}$/.test(payload.envelopeId) &&
    parseId("prn", payload.issuerPrincipal) !== undefined &&
    payload.messageSha256.length === 32 &&
    (payload.parentSha256.length === 0 || payload.parentSha256.length === 32) &&
    payload.correlationId !== "" &&
    payload.correlationId.length <= 128 &&
    payload.causationId.length <= 128 &&
    payload.messageType.length <= 256 &&
    payload.scopeSubset.length <= 256 &&
    payload.scopeSubset.every((scope) => scope !== "")
  )
}

/** What is not known may be a limit that a newer sender relies on. */
const hasUnknown = (message: Message): boolean => (message.$unknown?.length ?? 0) > 0

function decoded<T>(decode: () => T): T | undefined {
  try {
    return decode()
  } catch {
    return undefined
  }
}
