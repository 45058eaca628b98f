// Changes of memberships by administrators, with the records that depend on a membership.

import { isLiveMembership, membershipMoves } from "@signet/kernel/administration/moves"
import type { Place } from "@signet/kernel/administration/ports"
import type { AuditKind } from "@signet/kernel/audit/event"
import { isInside } from "@signet/kernel/authz/admin-reach"
import { parseId } from "@signet/kernel/ids"
import type { Membership } from "@signet/kernel/records"
import { longestTokenMs } from "@signet/kernel/token/claims"
import type { AdminTransaction } from "./administer.ts"
import { foundIn, placeOf, type Take } from "./found.ts"
import { moved } from "./outcome.ts"

export async function foundMembership(
  admin: AdminTransaction,
  of: { appId: string; membershipId: string },
  take: Take,
): Promise<Membership> {
  const { tx } = admin
  const id = parseId("mem", of.membershipId)
  const membership = foundIn(of.appId, id && (await tx.members.find(id)))
  admin.reach(membership)
  if (take === "find") return membership
  // The lock order of a sign-in and of every grant: principal, invitation, membership.
  await tx.principals.lock(membership.principalId)
  await lockInvitation(tx, membership)
  return foundIn(of.appId, await tx.members.lock(membership.id))
}

/** A membership with an empty profile. */
export function newMembership(
  { nowMs, newId }: AdminTransaction,
  of: Place & Pick<Membership, "principalId" | "status" | "scopes">,
): Membership {
  return { ...of, id: newId("mem"), profile: {}, createdAtMs: nowMs, updatedAtMs: nowMs }
}

export const recordMembership = (admin: AdminTransaction, kind: AuditKind, membership: Membership): Promise<void> =>
  admin.record(kind, {
    place: placeOf(membership),
    target: { type: "membership", id: membership.id },
    subject: membership.principalId,
  })

export type MoveName = keyof typeof membershipMoves

const kinds = {
  suspend: "membership.suspended",
  resume: "membership.resumed",
  remove: "membership.removed",
  approve: "membership.approved",
  reject: "membership.rejected",
} as const satisfies Record<MoveName, AuditKind>

/**
 * Moves a membership to another status. Suspension and removal end its sessions. A removal also ends the memberships,
 * invitations, grants, personal access tokens and delegations inside of it, so that a later membership starts with
 * none.
 *
 * @returns The membership after the move.
 */
export async function changeMembership(
  admin: AdminTransaction,
  membership: Membership,
  name: MoveName,
): Promise<Membership> {
  const next = moved<Membership["status"], Membership>(membership, membershipMoves[name])
  if (next === undefined) return membership
  const { tx, nowMs } = admin
  const updated = { ...next, updatedAtMs: nowMs }
  await tx.members.update(updated)
  const { principalId } = membership
  if (name === "suspend" || name === "remove") {
    await tx.endings.endByMembership({ ...placeOf(membership), principalId }, kinds[name], nowMs)
  }
  if (name === "remove") await removeInside(admin, membership)
  await recordMembership(admin, kinds[name], updated)
  return updated
}

export async function removeInside(
  { tx, nowMs }: Pick<AdminTransaction, "tx" | "nowMs">,
  membership: Membership,
): Promise<void> {
  const { appId, principalId } = membership
  await revokeInvitation(tx, membership, nowMs)
  for (const there of await tx.identities.findMemberships(principalId, appId)) {
    await lockInvitation(tx, there)
    const inner = await tx.members.lock(there.id)
    if (inner === undefined || !isLiveMembership(inner) || !isInside(inner, membership)) continue
    await tx.members.update({ ...inner, status: "REMOVED", updatedAtMs: nowMs })
    await revokeInvitation(tx, inner, nowMs)
  }
  for (const grant of await tx.grants.listOfPrincipal(principalId, appId)) {
    if (isInside(grant, membership)) await tx.grants.revoke(grant.id, nowMs)
  }
  await endCredentialsInside(tx, membership, nowMs)
}

/** More than a principal can have. */
const all = { size: 100_000, before: null }

/**
 * Revokes the personal access tokens and delegations inside of the membership, and the access tokens issued from them.
 */
async function endCredentialsInside(tx: AdminTransaction["tx"], membership: Membership, nowMs: number): Promise<void> {
  const { appId, principalId } = membership
  const isThere = (one: Place & { revokedAtMs: number | null }) => one.revokedAtMs === null && isInside(one, membership)
  const pats = (await tx.pats.list(principalId, appId, all)).filter(isThere)
  for (const { id } of pats) await tx.pats.revoke(id, "REVOKED", nowMs)
  const delegations = (await tx.delegations.listDelegations(principalId, appId, all)).filter(isThere)
  for (const { id } of delegations) await tx.delegations.revokeDelegation(id, nowMs)
  const expiresAtMs = nowMs + longestTokenMs
  await tx.revocations.add([...pats, ...delegations].map(({ id: key }) => ({ kind: "CREDENTIAL", key, expiresAtMs })))
}

const lockInvitation = async (tx: AdminTransaction["tx"], { id, status }: Membership) =>
  status === "INVITED" ? tx.invitations.lockByMembership(id) : undefined

async function revokeInvitation(tx: AdminTransaction["tx"], membership: Membership, nowMs: number): Promise<void> {
  const invitation = await lockInvitation(tx, membership)
  if (invitation === undefined) return
  await tx.invitations.update({ ...invitation, status: "REVOKED", answeredAtMs: nowMs })
}
