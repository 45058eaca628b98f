import { expect, test } from "vitest"
import { issueClaimTicket, maxTicketSeconds, verifyClaimTicket } from "./claim-ticket.ts"
import { codeOf } from "./testing/code-of.ts"
import * as world from "./testing/world.ts"

const { ticketFields, ticketExpectation, receiptKey } = world
const issued = (change: Partial<typeof ticketFields> & { expiresAt?: bigint }) =>
  issueClaimTicket({ ...ticketFields, ...change }, receiptKey)

test("a ticket is valid for a day unless a shorter lifetime is given", () => {
  const { issuedAt } = ticketFields
  const lifeOf = (ticket: Uint8Array) => verifyClaimTicket(ticket, ticketExpectation).expiresAt - issuedAt
  expect(lifeOf(issued({ expiresAt: 0n }))).toBe(maxTicketSeconds)
  expect(lifeOf(issued({ expiresAt: issuedAt + 900n }))).toBe(900n)
})

test("a ticket that clients would refuse is not issued", () => {
  const { issuedAt, packages } = ticketFields
  expect(codeOf(() => issued({ expiresAt: issuedAt + maxTicketSeconds + 1n }))).toBe("TICKET_MALFORMED")
  expect(codeOf(() => issued({ packages: [...packages, ...packages.slice(0, 1)] }))).toBe("TICKET_MALFORMED")
})
