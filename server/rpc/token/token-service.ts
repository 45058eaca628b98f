import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import type { VerifyToken } from "@signet/guard/access-token"
import { createLocalKeySet } from "@signet/guard/key-set"
import { createContextVerifier } from "@signet/guard/mailbox/context"
import { contextOf } from "@signet/kernel/authz/context"
import { parseScope } from "@signet/kernel/authz/scopes"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import type { KeyPurpose } from "@signet/kernel/keys/purposes"
import { grantOf } from "@signet/kernel/token/grant"
import type { TokenRequest, TokenService } from "@signet/proto/auth/v1/token_service"
import { type ClientCredential, clientCredentialOf } from "./client-credential.ts"
import { exchangeContext } from "./context-grant.ts"
import type { KnowingDeps, TokenDeps } from "./deps.ts"
import { introspect } from "./introspect.ts"
import type { IssuedToken } from "./issued.ts"
import { createKnownClients } from "./known-clients.ts"
import { onBehalfOf } from "./on-behalf-grant.ts"
import { ownGrant } from "./own-grant.ts"
import { exchangePat } from "./pat-grant.ts"
import { clientRefusal, invalidRequest, refusal } from "./refuse.ts"
import { revoke } from "./revoke.ts"
import { serverMetadata } from "./server-metadata.ts"

/** Verifiers may cache the key set for five minutes; a next key is published a day before it signs. */
const keySetCaching = "public, max-age=300, stale-while-revalidate=600"

export function tokenService(tokenDeps: TokenDeps): ServiceImpl<typeof TokenService> {
  const deps = { ...tokenDeps, knownClients: createKnownClients() }
  const verifyContext = createVerifyContext(deps)

  function keySet(context: HandlerContext, purpose: KeyPurpose) {
    context.responseHeader.set("cache-control", keySetCaching)
    return { keys: deps.keys.jwks(purpose).map((key) => ({ ...key })) }
  }

  return {
    async token(request, context) {
      return await token(deps, context, request)
    },

    introspect: (request, context) => introspect(deps, verifyContext, context, request),

    async revoke(request, context) {
      await revoke(deps, verifyContext, context, request)
      return {}
    },

    getJwks: (_, context) => keySet(context, "ACCESS"),
    getStatementKeys: (_, context) => keySet(context, "STATEMENT"),
    getContextKeys: (_, context) => keySet(context, "CONTEXT"),

    getAuthorizationServerMetadata(_, context) {
      context.responseHeader.set("cache-control", "public, max-age=300")
      return serverMetadata(deps.issuer)
    },
  }
}

/** Verifies this issuer's context tokens, of any sender. */
function createVerifyContext({ keys, issuer, crypto, clock }: TokenDeps): VerifyToken {
  const contextKeys = createLocalKeySet({ jwks: () => keys.jwks("CONTEXT") }, crypto)
  const verify = createContextVerifier({ issuer, contextKeys, crypto, clock, cacheSize: 10_000 })
  return async (token) => {
    const found = await verify(token)
    return typeof found === "string" ? found : contextOf(found.claims, found.payload)
  }
}

/** Runs the requested grant with the parameters that it uses. */
async function token(deps: KnowingDeps, context: HandlerContext, request: TokenRequest): Promise<IssuedToken> {
  const grant = grantOf(request)
  if (grant instanceof Refused) throw grant
  const credential = clientCredentialOf(request, context.requestHeader.get("authorization"))
  if (credential instanceof Refused) throw credential
  const scopes = parseScope(request.scope)
  if (scopes === undefined) {
    throw refusal("INVALID_FIELD", { error: "invalid_scope", field: "scope", message: "scope must be printable ASCII" })
  }
  const isOwn = grant.is === "client_credentials" || grant.is === "own_context"
  const isContext = grant.is === "own_context" || grant.is === "context"
  if (!isOwn && request.tenantId !== "") throw misplaced("tenant_id")
  if (!isOwn && grant.is !== "pat" && request.contextId !== "") throw misplaced("context_id")
  if (isContext && request.audience !== "") throw misplaced("audience")
  if (grant.is !== "on_behalf_of" && request.jobId !== "") throw misplaced("job_id")
  const contextId = parseId("ctx", request.contextId) ?? null
  const { audience } = request
  switch (grant.is) {
    case "pat":
      if (credential.is === "secret" || credential.is === "assertion") {
        throw invalidRequest("client_id", "a personal access token is exchanged without a client's credential")
      }
      return exchangePat(deps, context, { pat: grant.pat, audience, scopes, contextId })
    case "context":
      return exchangeContext(deps, context, {
        credential,
        clientId: request.clientId,
        actorToken: request.actorToken,
        token: grant.token,
        scopes,
      })
    case "own_context":
    case "client_credentials": {
      const proof = proofOf(credential)
      if (grant.is === "client_credentials" && audience === "") throw missing("audience")
      const tenantId = parseId("ten", request.tenantId) ?? null
      return ownGrant(deps, context, { is: grant.is, proof, audience, scopes, tenantId, contextId })
    }
    case "on_behalf_of":
      if (audience === "") throw missing("audience")
      if (scopes.length === 0) throw missing("scope")
      if (request.jobId === "") throw missing("job_id")
      return onBehalfOf(deps, context, {
        credential,
        clientId: request.clientId,
        actorToken: request.actorToken,
        subject: grant.subject,
        audience,
        scopes,
        jobId: request.jobId,
      })
  }
}

function proofOf(credential: ClientCredential): Extract<ClientCredential, { is: "secret" | "assertion" }> {
  if (credential.is === "secret" || credential.is === "assertion") return credential
  throw clientRefusal()
}

const missing = (field: string): Refused => invalidRequest(field, "this parameter is needed")
const misplaced = (field: string): Refused => invalidRequest(field, "the grant does not use this parameter: omit it")
