import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { membershipRequestProblem, planLeave } from "@signet/kernel/identity/joining"
import { newId, parseId } from "@signet/kernel/ids"
import type { Membership } from "@signet/kernel/records"
import { removeInside } from "../admin/membership.ts"
import type { Deps } from "../deps.ts"
import { onSelf, recordEnded } from "./self.ts"

export function requestMembership(
  deps: Deps,
  context: HandlerContext,
  asked: { tenantId: string; contextId: string },
): Promise<Membership> {
  const tenantId = parseId("ten", asked.tenantId) ?? null
  const contextId = parseId("ctx", asked.contextId) ?? null
  if (tenantId === null && contextId === null) {
    throw new Refused("INVALID_FIELD", {
      message: "tenant_id or context_id is required",
      metadata: { field: "tenant_id" },
    })
  }
  return onSelf(deps, context, async ({ tx, nowMs, user, principal, record, refuse }) => {
    const place = { appId: user.appId, tenantId, contextId }
    const there = await tx.identities.findMembership(principal.id, user.appId, tenantId, contextId)
    const problem = membershipRequestProblem(await tx.places.lockShared(place), there)
    if (problem !== undefined) {
      return refuse(problem === "RESOURCE_UNRESOLVED" ? "authz.denied" : "membership.requested", problem)
    }
    const own = await tx.identities.findMembership(principal.id, user.appId, null, null)
    const membership: Membership = {
      ...place,
      id: newId("mem", nowMs, deps.random.bytes(10)),
      principalId: principal.id,
      status: "REQUESTED",
      profile: own?.profile ?? {},
      scopes: [],
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    }
    const inserted = await tx.identities.insertMembership(membership)
    if (inserted.id !== membership.id) return refuse("membership.requested", "ALREADY_EXISTS")
    await record("membership.requested", { ...place, target: { type: "membership", id: membership.id } })
    return membership
  })
}

export function leaveMembership(deps: Deps, context: HandlerContext, idText: string): Promise<Membership> {
  return onSelf(deps, context, async (self) => {
    const { tx, nowMs, user, principal, record, refuse } = self
    const id = parseId("mem", idText)
    const membership = id && (await tx.members.lock(id))
    // A membership of another principal is answered as a missing one.
    if (!membership || membership.principalId !== principal.id || membership.appId !== user.appId) {
      return refuse("membership.removed", "NOT_FOUND")
    }
    const { appId, tenantId, contextId } = membership
    const place = { appId, tenantId, contextId }
    const target = { type: "membership", id: membership.id }
    const plan = planLeave(membership)
    if (plan === "stay") return membership
    if (plan === "refuse") return refuse("membership.removed", "STATE_CONFLICT", target)
    const left: Membership = { ...membership, status: "REMOVED", updatedAtMs: nowMs }
    await tx.members.update(left)
    await removeInside(self, membership)
    await record("membership.removed", { ...place, target })
    if (membership.status === "ACTIVE") {
      const ended = await tx.endings.endByMembership({ ...place, principalId: principal.id }, "membership_left", nowMs)
      await recordEnded(self, ended)
    }
    return left
  })
}
