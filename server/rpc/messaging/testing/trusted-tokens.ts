// Unsigned access tokens, and a guard that accepts them: for handlers that tests call in-process.
import type { Interceptor } from "@connectrpc/connect"
import { kAuth } from "@signet/guard/connect"
import { contextOf } from "@signet/kernel/authz/context"
import { newId } from "@signet/kernel/ids"
import type { Random } from "@signet/kernel/ports"
import type { Session } from "@signet/kernel/records"
import type { AccessTokenClaims } from "@signet/kernel/token/claims"
import { issuer } from "./test-issuer.ts"

export function trustedTokenOf(session: Session, nowMs: number, random: Random): string {
  const iat = Math.floor(nowMs / 1_000)
  const claims: AccessTokenClaims = {
    iss: issuer,
    aud: "auth",
    sub: session.principalId,
    jti: newId("jti", nowMs, random.bytes(10)),
    sid: session.id,
    principal_type: "user",
    identity_id: session.identityId,
    app_id: session.appId,
    scp: ["messaging.read", "messaging.write"],
    perm_ver: 1,
    amr: [],
    iat,
    nbf: iat,
    exp: iat + 600,
    client_id: session.appId,
    gty: "session",
    ...(session.boundDeviceId === null ? {} : { did: session.boundDeviceId }),
  }
  return `header.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.signature`
}

export const trusting: Interceptor = (next) => async (req) => {
  const [, payload] = req.header.get("authorization")?.split(".") ?? []
  if (payload !== undefined) {
    const claims: AccessTokenClaims = JSON.parse(Buffer.from(payload, "base64url").toString())
    req.contextValues.set(kAuth, contextOf(claims))
  }
  return next(req)
}
