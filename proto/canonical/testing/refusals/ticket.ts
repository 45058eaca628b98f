import { create } from "@bufbuild/protobuf"
import {
  ClaimedPackageV1Schema,
  type ClaimTicketBodyV1,
  ClaimTicketBodyV1Schema,
} from "@signet/proto/credential/v1/claim_ticket"
import { concat } from "../../bytes.ts"
import { maxTicketSeconds, verifyClaimTicket } from "../../claim-ticket.ts"
import * as world from "../world.ts"
import { partsOf, type Refusal, resigned, signedRaw, table, tampered } from "./refusal.ts"

const { ticketBytes, receiptKey, now, id } = world
const schema = ClaimTicketBodyV1Schema
const changed = (change: Partial<ClaimTicketBodyV1>) => resigned(schema, ticketBytes, change, receiptKey)
const outside = changed({ tenantId: new Uint8Array(0) })
const issuedAt = now - 60n
const longAgo = now - 101n * world.day

export const ticketRefusals: readonly Refusal[] = table("ticket", verifyClaimTicket, world.ticketExpectation, [
  ["a good ticket", ticketBytes, {}, "ok"],
  ["outside any tenant", outside, { tenantId: undefined }, "ok"],
  ["in its first second", ticketBytes, { atSeconds: issuedAt }, "ok"],
  ["in its last second", ticketBytes, { atSeconds: issuedAt + maxTicketSeconds - 1n }, "ok"],
  ["not an envelope", Uint8Array.of(1), {}, "TICKET_MALFORMED"],
  [
    "a byte after the body, well signed",
    signedRaw(schema, concat(partsOf(ticketBytes).body, Uint8Array.of(0)), receiptKey),
    {},
    "TICKET_MALFORMED",
  ],
  ["for longer than a day", changed({ expiresAt: issuedAt + maxTicketSeconds + 1n }), {}, "TICKET_MALFORMED"],
  ["for no time", changed({ expiresAt: issuedAt }), {}, "TICKET_MALFORMED"],
  [
    "two packages of one device",
    changed({
      packages: world.ticketFields.packages.map((one) => create(ClaimedPackageV1Schema, { ...one, deviceId: id(1) })),
    }),
    {},
    "TICKET_MALFORMED",
  ],
  ["signed by a stranger", resigned(schema, ticketBytes, {}, world.strangerKey), {}, "TICKET_UNKNOWN_ISSUER_KEY"],
  ["signed by the key for proofs", resigned(schema, ticketBytes, {}, world.proofKey), {}, "TICKET_ISSUER_KEY_PURPOSE"],
  ["a receipt", world.receiptBytes, {}, "TICKET_BAD_SIGNATURE"],
  ["tampered", tampered(ticketBytes), {}, "TICKET_BAD_SIGNATURE"],
  ["of another issuer", changed({ issuerId: id(9) }), {}, "TICKET_WRONG_ISSUER"],
  ["before its key's time", ticketBytes, { atSeconds: longAgo }, "TICKET_ISSUER_KEY_NOT_VALID"],
  ["of another tenant", ticketBytes, { tenantId: id(9) }, "TICKET_WRONG_TENANT"],
  ["of a tenant where there is none", ticketBytes, { tenantId: undefined }, "TICKET_WRONG_TENANT"],
  ["of no tenant where there is one", outside, {}, "TICKET_WRONG_TENANT"],
  ["of another app", ticketBytes, { appId: id(9) }, "TICKET_WRONG_APP"],
  ["for another conversation", ticketBytes, { conversationId: id(9) }, "TICKET_WRONG_CONVERSATION"],
  ["for another device", ticketBytes, { requesterDeviceId: id(9) }, "TICKET_WRONG_DEVICE"],
  ["before its time", ticketBytes, { atSeconds: issuedAt - 1n }, "TICKET_NOT_YET_VALID"],
  ["after its time", ticketBytes, { atSeconds: issuedAt + maxTicketSeconds }, "TICKET_EXPIRED"],
])
