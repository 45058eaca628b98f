// Verifies envelopes: the signature with the key, the key with its certificate, and revocations known to the receiver.
import type { Envelope } from "@signet/kernel/authz/envelope"
import type { Reason } from "@signet/kernel/errors"
import type { SignedEnvelope } from "@signet/proto/authz/v1/mailbox"
import { type CertificateOptions, type Certified, createCertify } from "./certificate.ts"
import { hex, readPayload, sha256, signedBytes } from "./payload.ts"

/** A revocable object: a key by its kid, or a service by its principal. */
interface RevocableSender {
  readonly kind: "CREDENTIAL" | "PRINCIPAL"
  readonly key: string
  /**
   * When its certificate was signed. A revocation that was lifted before does not apply. Milliseconds since the Unix
   * epoch.
   */
  readonly issuedAtMs: number
}

export interface OpenOptions extends CertificateOptions {
  /** True if the object was revoked, according to the revocation feed or a store. Throws if that is unknown. */
  readonly isRevoked?: (of: RevocableSender) => boolean | Promise<boolean>
}

/** A verified envelope, with the fields that only its receiver reads. */
export interface OpenedEnvelope extends Envelope {
  readonly messageType: string
  /** Hexadecimal. */
  readonly messageDigest: string
}

export type Open = (signed: SignedEnvelope) => Promise<OpenedEnvelope | Reason>

export function createOpen(options: OpenOptions): Open {
  const { isRevoked } = options
  const certify = createCertify(options)

  async function revocation({ kid, principalId, issuedAtMs }: Certified): Promise<Reason | undefined> {
    if (isRevoked === undefined) return undefined
    try {
      if (await isRevoked({ kind: "CREDENTIAL", key: kid, issuedAtMs })) return "ENVELOPE_KEY_REVOKED"
      return (await isRevoked({ kind: "PRINCIPAL", key: principalId, issuedAtMs })) ? "PRINCIPAL_INACTIVE" : undefined
    } catch {
      return "UNAVAILABLE"
    }
  }

  return async ({ payload: bytes, kid, sig, certificate }) => {
    const sender = await certify(kid, certificate)
    if (typeof sender === "string") return sender
    const isSound = sig.length === 64 && (await sender.key.verify(new Uint8Array(sig), signedBytes(bytes)))
    if (!isSound) return "ENVELOPE_SIGNATURE_INVALID"
    const payload = readPayload(bytes)
    if (payload === undefined) return "ENVELOPE_MALFORMED"
    if (payload.issuerPrincipal !== sender.principalId) return "ENVELOPE_CERTIFICATE_INVALID"
    const revoked = await revocation(sender)
    if (revoked !== undefined) return revoked
    return {
      id: payload.envelopeId,
      sender: senderOf(sender),
      mailbox: payload.mailbox,
      contextToken: payload.contextToken,
      scopes: payload.scopeSubset,
      causationId: payload.causationId,
      correlationId: payload.correlationId,
      digest: hex(await sha256(bytes)),
      parentDigest: hex(payload.parentSha256),
      hop: payload.hop,
      iat: payload.iat,
      exp: payload.exp,
      messageType: payload.messageType,
      messageDigest: hex(payload.messageSha256),
    }
  }
}

const senderOf = ({ principalId, clientId, mailboxes, ownedAudiences }: Certified): Envelope["sender"] => ({
  principalId,
  clientId,
  mailboxes,
  ownedAudiences,
})
