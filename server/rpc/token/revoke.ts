// Token revocation (RFC 7009). The token's form shows its type, so the hint is not needed.
import type { HandlerContext } from "@connectrpc/connect"
import type { VerifyToken } from "@signet/guard/access-token"
import { parseBearer } from "@signet/guard/bearer"
import type { AuthContext } from "@signet/kernel/authz/context"
import { type Reason, Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import { isAddressee } from "@signet/kernel/machine/addressee"
import type { Tx } from "@signet/kernel/ports"
import { longestTokenMs, skewSeconds } from "@signet/kernel/token/claims"
import { parseOpaque } from "@signet/kernel/token/opaque"
import type { RevokeRequest } from "@signet/proto/auth/v1/token_service"
import { auditEvent } from "../audit/audit.ts"
import { limit, networkOf, refuseKnown } from "../limit.ts"
import { authenticateClient, type Client } from "./authenticate-client.ts"
import { type ClientCredential, clientCredentialOf } from "./client-credential.ts"
import { lockOf, throwCounted } from "./client-limits.ts"
import type { TokenDeps } from "./deps.ts"
import { clientRefusal, refusal } from "./refuse.ts"

/** The authenticated client, or the bearer of a token; else the reason why neither is known. */
interface Caller {
  client: Client | undefined
  bearer: AuthContext | Reason
}

/**
 * @param verifyContext Verifies context tokens, which are revoked like access tokens.
 * @throws Refused CLIENT_INVALID, CLIENT_NOT_ALLOWED, UNAVAILABLE. An unknown or expired token is no error.
 */
export async function revoke(
  deps: TokenDeps,
  verifyContext: VerifyToken,
  context: HandlerContext,
  request: RevokeRequest,
): Promise<void> {
  const authorization = context.requestHeader.get("authorization")
  const credential = clientCredentialOf(request, authorization)
  if (credential instanceof Refused) throw credential
  const address = { ip: networkOf(context) }
  refuseKnown(deps, context, "revoke", address, lockOf(credential))
  await limit(deps, context, "revoke", address, lockOf(credential))
  const bearer = await bearerOf(deps, credential, authorization)
  const token = request.token ?? ""
  const known = token.startsWith("sg") ? undefined : await deps.verify(token)
  const accessToken = known === "TYP_NOT_ALLOWED" ? await verifyContext(token) : known
  if (accessToken === "UNAVAILABLE" || accessToken === "INTERNAL") throw refusal(accessToken)
  const outcome = await deps.store
    .transaction(async (tx) => {
      const client =
        credential.is === "secret" || credential.is === "assertion"
          ? await authenticateClient(deps, tx, credential, deps.clock.nowMs())
          : undefined
      if (client instanceof Refused) return client
      const caller = { client, bearer }
      if (accessToken === undefined) return endOpaque(deps, context, tx, token, caller)
      return typeof accessToken === "string" ? undefined : endAccessToken(deps, context, tx, accessToken, caller)
    })
    // The token may still be valid, and the caller must know (RFC 7009 section 2.2.1).
    .catch((cause: unknown) => new Refused("UNAVAILABLE", { metadata: { error: "temporarily_unavailable" }, cause }))
  if (outcome instanceof Refused) await throwCounted(deps, context, credential, outcome)
}

async function bearerOf(
  deps: TokenDeps,
  credential: ClientCredential,
  authorization: string | null,
): Promise<AuthContext | Reason> {
  if (credential.is !== "bearer") return "NO_CREDENTIAL"
  const bearer = parseBearer(authorization)
  if (typeof bearer === "string") return bearer
  const context = await deps.verify(bearer.token)
  if (typeof context === "string") return context
  return context.audience === deps.authAudience ? context : "AUDIENCE_MISMATCH"
}

/** The holder of a refresh token or a personal access token may revoke it, also the finder of a leaked one. */
async function endOpaque(
  deps: TokenDeps,
  context: HandlerContext,
  tx: Tx,
  token: string,
  { bearer }: Caller,
): Promise<undefined> {
  const nowMs = deps.clock.nowMs()
  const refreshToken = parseOpaque("sgrt_", token)
  if (refreshToken !== undefined) {
    const session = await tx.sessions.lockByRefreshToken(deps.secrets.hashes("refresh-token", refreshToken))
    if (session === undefined || !(await tx.sessions.end(session.id, "REVOKED", "token_revoked", nowMs))) return
    await tx.audit.append(
      auditEvent(deps, context, nowMs, {
        kind: "session.revoked",
        appId: session.appId,
        tenantId: session.tenantId,
        contextId: session.contextId,
        subjectPrincipalId: session.principalId,
        subjectIdentityId: session.identityId,
        sessionId: session.id,
      }),
    )
    return
  }
  const personal = parseOpaque("sgpat_", token)
  const pat = personal && (await tx.pats.findByHash(deps.secrets.hashes("pat", personal)))
  if (pat === undefined || pat === "") return
  const isOwner = typeof bearer !== "string" && bearer.principal.id === pat.principalId
  if (!(await tx.pats.revoke(pat.id, isOwner ? "REVOKED" : "LEAKED", nowMs))) return
  await tx.revocations.add([{ kind: "CREDENTIAL", key: pat.id, expiresAtMs: nowMs + longestTokenMs }])
  await tx.audit.append(
    auditEvent(deps, context, nowMs, {
      kind: isOwner ? "pat.revoked" : "pat.leaked",
      appId: pat.appId,
      tenantId: pat.tenantId,
      contextId: pat.contextId,
      actorPrincipalId: isOwner ? pat.principalId : null,
      subjectPrincipalId: pat.principalId,
      subjectIdentityId: pat.identityId,
      target: { type: "pat", id: pat.id },
    }),
  )
}

async function endAccessToken(
  deps: TokenDeps,
  context: HandlerContext,
  tx: Tx,
  token: AuthContext,
  caller: Caller,
): Promise<Refused | undefined> {
  const { client, bearer } = caller
  if (client === undefined && typeof bearer === "string") {
    return bearer === "NO_CREDENTIAL" ? clientRefusal() : refusal(bearer, { error: "invalid_token" })
  }
  if (!isOwner(token, caller)) return refusal("CLIENT_NOT_ALLOWED")
  const nowMs = deps.clock.nowMs()
  const id = parseId("jti", token.tokenId ?? "")
  if (id === undefined) return undefined
  await tx.revocations.add([{ kind: "TOKEN", key: id, expiresAtMs: token.expiresAtMs + skewSeconds * 1_000 }])
  await tx.audit.append(
    auditEvent(deps, context, nowMs, {
      kind: "token.revoked",
      appId: token.appId,
      tenantId: token.tenantId,
      contextId: token.contextId,
      actorPrincipalId: client?.account.principalId ?? (typeof bearer === "string" ? null : bearer.principal.id),
      subjectPrincipalId: token.principal.id,
      subjectIdentityId: token.identityId,
      sessionId: token.sessionId,
      target: { type: "token", id },
    }),
  )
  return undefined
}

/**
 * True for the token's subject, the client that it was issued to, or the service of its audience; for a context token,
 * the sending service.
 */
function isOwner(token: AuthContext, { client, bearer }: Caller): boolean {
  if (client !== undefined) {
    const { account } = client
    if (token.audience === account.principalId) return true
    return token.claims.client_id === account.clientId || isAddressee(account, token)
  }
  return typeof bearer !== "string" && bearer.principal.id === token.principal.id
}
