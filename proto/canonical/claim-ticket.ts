import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { type ClaimTicketBodyV1, ClaimTicketBodyV1Schema } from "@signet/proto/credential/v1/claim_ticket"
import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { equalBytes, holds, toHex } from "./bytes.ts"
import type { SyncSigner, Verify } from "./ed25519.ts"
import { ensure } from "./errors.ts"
import { ensureKeyTime, type IssuedKind, type IssuerKeys, openIssued } from "./issued.ts"
import { signNow } from "./signed.ts"

/** The longest a claim ticket lives, and how long one is issued for. */
export const maxTicketSeconds = 86_400n

/** What a verifier of claim tickets holds already: the conversation, and who wants to use the packages. */
export interface TicketExpectation {
  readonly issuerKeys: IssuerKeys
  /** 16 bytes; undefined where there is no tenant, which is verified. */
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
 * Signs a claim ticket, without waiting; format version is filled in, and `expiresAt` when it is not given.
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
 * Verifies that these packages were given to this device, for this conversation, and may be used now.
 *
 * @param bytes a SignedBytesV1, as received: they are verified before they are decoded.
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

/** One package a device, and a life of a day at most. */
function ensureSound(body: ClaimTicketBodyV1): void {
  const devices = new Set(body.packages.map(({ deviceId }) => toHex(deviceId)))
  ensure(devices.size === body.packages.length, "TICKET_MALFORMED", "packages")
  const lifetime = body.expiresAt - body.issuedAt
  ensure(lifetime > 0n && lifetime <= maxTicketSeconds, "TICKET_MALFORMED", "expires_at")
}
