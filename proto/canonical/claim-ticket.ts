import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { type ClaimTicketBodyV1, ClaimTicketBodyV1Schema } from "@signet/proto/credential/v1/claim_ticket"
import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { equalBytes, holds, toHex } from "./bytes.ts"
import type { SyncSigner, Verify } from "./ed25519.ts"
import { ensure } from "./errors.ts"
import { ensureKeyTime, type IssuedKind, type IssuerKeys, openIssued } from "./issued.ts"
import { signNow } from "./signed.ts"

/** Maximum and default lifetime of a claim ticket. */
export const maxTicketSeconds = 86_400n

/** The verifier's own knowledge: the conversation, and the device that uses the packages. */
export interface TicketExpectation {
  readonly issuerKeys: IssuerKeys
  /** 16 bytes. Undefined requires that the ticket has no tenant. */
  readonly tenantId: Uint8Array | undefined
  readonly appId: Uint8Array
  readonly conversationId: Uint8Array
  readonly requesterDeviceId: Uint8Array
  /** Unix seconds. */
  readonly atSeconds: bigint
  readonly verify?: Verify
}

const claimTicket: IssuedKind<ClaimTicketBodyV1> = {
  prefix: "TICKET",
  schema: ClaimTicketBodyV1Schema,
  purpose: KeyPurpose.RECEIPT,
  ensureSound,
}

/**
 * Signs a claim ticket synchronously. Fills in the format version and, if missing, `expiresAt`.
 *
 * @throws CanonicalError TICKET_MALFORMED, CPB_*
 */
export function issueClaimTicket(
  init: MessageInitShape<typeof ClaimTicketBodyV1Schema>,
  signer: SyncSigner,
): Uint8Array {
  const body = create(ClaimTicketBodyV1Schema, init)
  body.version = 1
  if (body.expiresAt === 0n) body.expiresAt = body.issuedAt + maxTicketSeconds
  ensureSound(body)
  return signNow(ClaimTicketBodyV1Schema, body, signer)
}

/**
 * Verifies that these packages were claimed by this device for this conversation and may be used now.
 *
 * @param bytes A SignedBytesV1 as received. It is verified before its body is decoded.
 * @throws CanonicalError TICKET_*, in the order of the list in errors.ts.
 * @see proto/signet/credential/v1/claim_ticket.proto
 */
export function verifyClaimTicket(bytes: Uint8Array, expected: TicketExpectation): ClaimTicketBodyV1 {
  const { issuerKeys, atSeconds } = expected
  const { body, key } = openIssued(claimTicket, bytes, issuerKeys, expected.verify)
  ensureKeyTime("TICKET", key, atSeconds)
  ensure(holds(body.tenantId, expected.tenantId), "TICKET_WRONG_TENANT")
  ensure(equalBytes(body.appId, expected.appId), "TICKET_WRONG_APP")
  ensure(equalBytes(body.conversationId, expected.conversationId), "TICKET_WRONG_CONVERSATION")
  ensure(equalBytes(body.requesterDeviceId, expected.requesterDeviceId), "TICKET_WRONG_DEVICE")
  ensure(body.issuedAt <= atSeconds, "TICKET_NOT_YET_VALID")
  ensure(atSeconds < body.expiresAt, "TICKET_EXPIRED")
  return body
}

/** One package per device, and a lifetime of at most one day. */
function ensureSound(body: ClaimTicketBodyV1): void {
  const devices = new Set(body.packages.map(({ deviceId }) => toHex(deviceId)))
  ensure(devices.size === body.packages.length, "TICKET_MALFORMED", "packages")
  const lifetime = body.expiresAt - body.issuedAt
  ensure(lifetime > 0n && lifetime <= maxTicketSeconds, "TICKET_MALFORMED", "expires_at")
}
