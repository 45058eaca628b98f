import type { AuditEvent } from "@signet/kernel/audit/event"
import { newId } from "@signet/kernel/ids"
import type { Principal, ProviderAccount, RefreshToken, Session } from "@signet/kernel/records"
import { absoluteExpiry, idleExpiry } from "@signet/kernel/session/session"
import { buildOpaque } from "@signet/kernel/token/opaque"
import { auditEvent } from "../../audit/audit.ts"
import type { Deps } from "../../deps.ts"
import type { VouchedSignIn } from "./entry.ts"

/** A session that is not stored yet. */
interface NewSession {
  readonly session: Session
  readonly refreshToken: string
  readonly token: RefreshToken
  readonly events: readonly [succeeded: AuditEvent, begun: AuditEvent]
}

export function newSession(signIn: VouchedSignIn, of: { account: ProviderAccount; principal: Principal }): NewSession {
  const { deps, context, request, app, client, vouched, audiences, nowMs } = signIn
  const { platform } = request
  const absoluteExpiresAtMs = absoluteExpiry(app.settings, nowMs)
  const session: Session = {
    id: newId("ses", nowMs, deps.random.bytes(10)),
    principalId: of.principal.id,
    identityId: of.account.identityId,
    appId: app.id,
    tenantId: request.tenantId,
    contextId: request.contextId,
    providerAccountId: of.account.id,
    providerClientId: client.id,
    platform,
    amr: [request.provider],
    audiences,
    // A provider's clock may be ahead of ours; an authentication time in the future is clamped.
    authTimeMs: vouched.authTimeMs === null ? null : Math.min(vouched.authTimeMs, nowMs),
    status: "ACTIVE",
    createdAtMs: nowMs,
    lastRefreshedAtMs: null,
    idleExpiresAtMs: idleExpiry(app.settings, { platform, absoluteExpiresAtMs }, nowMs),
    absoluteExpiresAtMs,
    rotation: 0,
    device: request.device,
    boundDeviceId: null,
    userAgent: (context.requestHeader.get("user-agent") ?? "").slice(0, 256),
    cookieMode: request.cookieMode,
    revokedAtMs: null,
    revokeReason: null,
  }
  const refreshToken = buildOpaque("sgrt_", deps.random)
  const token = newRefreshToken(deps, session, refreshToken, nowMs, null)
  const common = {
    appId: request.appId,
    tenantId: request.tenantId,
    contextId: request.contextId,
    actorPrincipalId: of.principal.id,
    subjectPrincipalId: of.principal.id,
    subjectIdentityId: of.account.identityId,
    sessionId: session.id,
  }
  const target = { type: "provider_client", id: client.id }
  const succeeded = auditEvent(deps, context, nowMs, { kind: "login.succeeded", ...common, target })
  const begun = auditEvent(deps, context, nowMs, { kind: "session.created", ...common })
  return { session, refreshToken, token, events: [succeeded, begun] }
}

/** The record of a refresh token, with only its keyed hash. */
export function newRefreshToken(
  deps: Deps,
  session: Session,
  token: string,
  nowMs: number,
  previous: RefreshToken | null,
): RefreshToken {
  return {
    id: newId("rtk", nowMs, deps.random.bytes(10)),
    sessionId: session.id,
    tokenHash: deps.secrets.hash("refresh-token", token),
    familyId: previous?.familyId ?? session.id,
    previousTokenId: previous?.id ?? null,
    createdAtMs: nowMs,
    usedAtMs: null,
    rotatedAtMs: null,
    expiresAtMs: session.idleExpiresAtMs,
    revokedAtMs: null,
    retryKeyHash: null,
    successorSealed: null,
    confirmedAtMs: null,
  }
}
