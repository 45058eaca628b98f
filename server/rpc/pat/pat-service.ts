import type { ServiceImpl } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { principalInactivity } from "@signet/kernel/identity/principal"
import { newId, parseId } from "@signet/kernel/ids"
import type { Pat } from "@signet/kernel/machine/records"
import type { Tx } from "@signet/kernel/ports"
import { longestTokenMs } from "@signet/kernel/token/claims"
import { buildOpaque } from "@signet/kernel/token/opaque"
import { planPat } from "@signet/kernel/token/pat"
import type { CreatePatRequest, PatService } from "@signet/proto/auth/v1/pat_service"
import { sessionUserOf, type UserContext } from "../../serving/call/call.ts"
import { auditEvent } from "../audit/audit.ts"
import type { Deps } from "../deps.ts"
import { limitWrite } from "../limit.ts"
import { pageAsked, pageFound } from "../page.ts"
import { activeMembership, isPlaceOpen } from "../place.ts"
import { patShape } from "../service-account/machine-shape.ts"
import { exchangePat } from "../token/pat-grant.ts"

export function patService(deps: Deps): ServiceImpl<typeof PatService> {
  return {
    async createPat(request, context) {
      const user = sessionUserOf(context)
      await limitWrite(deps, context)
      const nowMs = deps.clock.nowMs()
      const token = buildOpaque("sgpat_", deps.random)
      const pat = await deps.store.transaction(async (tx) => {
        const planned = await plan(deps, tx, user, request, nowMs)
        if (planned instanceof Refused) return planned
        const made: Pat = {
          ...planned,
          id: newId("pat", nowMs, deps.random.bytes(10)),
          principalId: user.principal.id,
          identityId: user.identityId,
          appId: user.appId,
          tenantId: user.tenantId,
          contextId: user.contextId,
          name: request.name,
          tokenHash: deps.secrets.hash("pat", token),
          last4: token.slice(-4),
          createdAtMs: nowMs,
          lastUsedAtMs: null,
          revokedAtMs: null,
          revokeReason: null,
        }
        await tx.pats.insert(made)
        await tx.audit.append(auditEvent(deps, context, nowMs, { kind: "pat.created", ...factsOf(user, made) }))
        return made
      })
      if (pat instanceof Refused) throw pat
      return { token, pat: patShape(pat, nowMs) }
    },

    async listPats(request, context) {
      const user = sessionUserOf(context)
      const nowMs = deps.clock.nowMs()
      const filter = ["pats", user.principal.id, user.appId]
      const asked = pageAsked(deps.secrets, "pat", filter, request)
      const found = await deps.store.transaction((tx) => tx.pats.list(user.principal.id, user.appId, asked))
      const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
      return { pats: page.map((pat) => patShape(pat, nowMs)), nextPageToken }
    },

    async revokePat(request, context) {
      const user = sessionUserOf(context)
      await limitWrite(deps, context)
      const id = parseId("pat", request.patId)
      const nowMs = deps.clock.nowMs()
      const found = await deps.store.transaction(async (tx) => {
        const pat = id && (await tx.pats.lock(id))
        if (!pat || pat.principalId !== user.principal.id || pat.appId !== user.appId) return false
        if (await tx.pats.revoke(pat.id, "REVOKED", nowMs)) {
          await tx.revocations.add([{ kind: "CREDENTIAL", key: pat.id, expiresAtMs: nowMs + longestTokenMs }])
          await tx.audit.append(auditEvent(deps, context, nowMs, { kind: "pat.revoked", ...factsOf(user, pat) }))
        }
        return true
      })
      // Another user's token is answered as a missing one.
      if (!found) throw new Refused("NOT_FOUND")
      return {}
    },

    async exchangePat(request, context) {
      const { pat, audience, scopes } = request
      const contextId = parseId("ctx", request.contextId) ?? null
      const { scope, ...issued } = await exchangePat(deps, context, { pat, audience, scopes, contextId })
      return {
        accessToken: issued.accessToken,
        tokenType: issued.tokenType,
        expiresIn: issued.expiresIn,
        audience: issued.audience,
        scopes: scope.split(" "),
      }
    },
  }
}

async function plan(deps: Deps, tx: Tx, user: UserContext, request: CreatePatRequest, nowMs: number) {
  // Locked: a concurrent deactivation of the principal revokes this token too.
  const principal = await tx.principals.lock(user.principal.id)
  const inactive = principalInactivity(principal?.status)
  if (principal === undefined || inactive !== undefined) return new Refused(inactive ?? "PRINCIPAL_INACTIVE")
  const app = await tx.apps.findApp(user.appId)
  if (app === undefined) return new Refused("TENANT_SUSPENDED")
  const planned = planPat(
    { audiences: request.allowedAudiences, scopes: request.scopes, lifeDays: request.expiresInDays },
    { app, membership: await activeMembership(tx, principal.id, user), authAudience: deps.authAudience, nowMs },
  )
  if (typeof planned === "string") return new Refused(planned)
  return (await isPlaceOpen(tx, app.status, user)) ? planned : new Refused("TENANT_SUSPENDED")
}

const factsOf = (user: UserContext, pat: Pat) => ({
  appId: pat.appId,
  tenantId: pat.tenantId,
  contextId: pat.contextId,
  actorPrincipalId: user.principal.id,
  subjectPrincipalId: pat.principalId,
  subjectIdentityId: pat.identityId,
  sessionId: user.sessionId,
  target: { type: "pat", id: pat.id },
})
