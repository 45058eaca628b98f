import { newId } from "@signet/kernel/ids"
import type { Principal, ProviderAccount, RefreshToken, Session } from "@signet/kernel/records"
import { absoluteExpiry, idleExpiry } from "@signet/kernel/session/session"
import { buildOpaque } from "@signet/kernel/token/opaque"
import type { Deps } from "../../deps.ts"
import type { Entry } from "./entry.ts"

/** @param of.used The use of an account that existed earlier; null for a new one. */
export function insertSession(
  { deps, context, tx, request, app, client, vouched, audiences, nowMs }: Entry,
  of: { account: ProviderAccount; principal: Principal; used: { email: string | null } | null },
): { session: Session; refreshToken: string } {
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
  tx.signIns.insertSession(session, newRefreshToken(deps, session, refreshToken, nowMs, null), of.used)
  return { session, refreshToken }
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
