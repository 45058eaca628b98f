// Inserts the memberships of a sign-in: in the app as a whole, and at the place of an invitation.
import type { Invitation } from "@signet/kernel/administration/records"
import { isText } from "@signet/kernel/identity/claim"
import { normalizeEmail } from "@signet/kernel/identity/first-login"
import type { Vouched } from "@signet/kernel/identity/provider-ports"
import { newId } from "@signet/kernel/ids"
import type { Membership, Principal } from "@signet/kernel/records"
import { auditEvent } from "../../audit/audit.ts"
import type { Entry } from "./entry.ts"
import type { SignInRequest } from "./request.ts"

/** The sign-in facts that a new membership needs. */
export type Joining = Pick<Entry, "deps" | "context" | "tx" | "nowMs"> & {
  readonly request: Pick<SignInRequest, "appId" | "hints">
  readonly vouched: Pick<Vouched, "name">
}

type InnerPlace = Pick<Membership, "tenantId" | "contextId">
const wholeApp: InnerPlace = { tenantId: null, contextId: null }

/** Inserts the membership in the app as a whole. */
export async function joinApp(entry: Joining, principal: Principal): Promise<Membership> {
  const membership = await insert(entry, principal, wholeApp, [])
  await record(entry, principal, "membership.created", membership)
  return membership
}

/**
 * Accepts an invitation, which is locked and valid. The membership becomes active, with its own scopes and the
 * invitation's. A membership made for the invitation has those scopes already, except revoked ones.
 */
export async function consumeInvitation(
  entry: Joining,
  principal: Principal,
  invitation: Invitation,
): Promise<Membership> {
  const { tx, nowMs } = entry
  const { appId, tenantId, contextId, scopes } = invitation
  const there = await tx.identities.findMembership(principal.id, appId, tenantId, contextId)
  const membership =
    there !== undefined && isOpen(there)
      ? await accept(entry, there, there.id === invitation.membershipId ? [] : scopes)
      : await insert(entry, principal, invitation, scopes)
  await tx.invitations.update({
    ...invitation,
    status: "ACCEPTED",
    answeredAtMs: nowMs,
    membershipId: membership.id,
  })
  await record(entry, principal, "membership.accepted", membership)
  return membership
}

async function record(
  { deps, context, tx, nowMs }: Joining,
  principal: Principal,
  kind: "membership.created" | "membership.accepted",
  { appId, tenantId, contextId, id }: Membership,
): Promise<void> {
  const facts = {
    ...{ kind, appId, tenantId, contextId },
    actorPrincipalId: principal.id,
    subjectPrincipalId: principal.id,
    subjectIdentityId: principal.identityId,
    target: { type: "membership", id },
  } as const
  await tx.audit.append(auditEvent(deps, context, nowMs, facts))
}

const isOpen = ({ status }: Membership): boolean =>
  status === "ACTIVE" || status === "INVITED" || status === "REQUESTED"

async function accept({ tx, nowMs }: Joining, there: Membership, scopes: readonly string[]): Promise<Membership> {
  const locked = (await tx.members.lock(there.id)) ?? there
  const all = [...new Set([...locked.scopes, ...scopes])]
  const membership: Membership = { ...locked, status: "ACTIVE", scopes: all, updatedAtMs: nowMs }
  await tx.members.update(membership)
  return membership
}

async function insert(
  entry: Joining,
  principal: Principal,
  { tenantId, contextId }: InnerPlace,
  scopes: readonly string[],
): Promise<Membership> {
  const { deps, tx, request, nowMs } = entry
  return tx.identities.insertMembership({
    id: newId("mem", nowMs, deps.random.bytes(10)),
    principalId: principal.id,
    appId: request.appId,
    tenantId,
    contextId,
    status: "ACTIVE",
    profile: profileOf(entry),
    scopes,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  })
}

/** The provider's name before the client's. Neither is verified or requested again. */
function profileOf({ vouched, request }: Joining): Membership["profile"] {
  const name = vouched.name ?? request.hints.name ?? ""
  const email = normalizeEmail(request.hints.email ?? null)
  return {
    ...(name !== "" && isText(name, 256) ? { name } : {}),
    ...(email !== null && isText(email, 320) ? { email } : {}),
  }
}
