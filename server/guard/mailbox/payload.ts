// Encoding of envelopes: the signed bytes, their digests, and the parsing of verified payloads.
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

/** A message and its chain of envelopes. */
const maxBytes = 1_572_864
const maxMessageBytes = 1_048_576

type Bytes = Uint8Array<ArrayBuffer>

const label = new TextEncoder().encode("signet actor envelope v1\0")
const keyLabel = new TextEncoder().encode("signet envelope key v1\0")

/** The bytes that an envelope's signature covers. */
export const signedBytes = (payload: Uint8Array): Bytes => joined(label, payload)

/** The bytes that a service signs to prove possession of a key: the id of its account. */
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

/** Decodes delivered bytes. Nothing is verified yet. */
export function readPosted(bytes: Uint8Array): PostedEnvelope | Reason {
  if (bytes.length > maxBytes) return "ENVELOPE_MALFORMED"
  // Copied, because verified data are views of these bytes and the transport may reuse its buffer.
  const posted = decoded(() => fromBinary(PostedEnvelopeSchema, new Uint8Array(bytes)))
  if (posted === undefined || hasUnknown(posted) || posted.chain.some(hasUnknown)) return "ENVELOPE_MALFORMED"
  if (posted.chain.length === 0 || posted.message.length > maxMessageBytes) return "ENVELOPE_MALFORMED"
  // Checked before the cost of verifying the signatures.
  return posted.chain.length > maxHops + 1 ? "ENVELOPE_HOP_LIMIT" : posted
}

/** Decodes a payload whose signature was verified. */
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

/** An unknown field may be a restriction that a newer sender relies on. */
const hasUnknown = (message: Message): boolean => (message.$unknown?.length ?? 0) > 0

function decoded<T>(decode: () => T): T | undefined {
  try {
    return decode()
  } catch {
    return undefined
  }
}
