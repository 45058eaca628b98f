import { create, type JsonObject } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { AuthContext, PrincipalRef } from "@signet/kernel/authz/context"
import {
  AuthContextSchema,
  AuthMethod,
  PrincipalKind,
  type AuthContext as WireContext,
} from "@signet/proto/authz/v1/context"

/** The context as the contract has it. */
export function wireContext(context: AuthContext): WireContext {
  const { delegation } = context
  const claims: JsonObject = JSON.parse(JSON.stringify(context.claims))
  return create(AuthContextSchema, {
    principal: wirePrincipal(context.principal),
    identityId: context.identityId ?? "",
    appId: context.appId,
    tenantId: context.tenantId ?? "",
    contextId: context.contextId ?? "",
    sessionId: context.sessionId ?? "",
    deviceId: context.deviceId ?? "",
    tokenId: context.tokenId ?? "",
    credentialId: context.credentialId ?? "",
    issuer: context.issuer,
    audience: context.audience,
    scopes: [...context.scopes],
    method: AuthMethod[context.method],
    claims,
    ...(context.actor && { actor: wirePrincipal(context.actor) }),
    ...(delegation && {
      delegation: {
        actor: wirePrincipal(delegation.actor),
        jobId: delegation.jobId,
        originSessionId: delegation.originSessionId ?? "",
        expiresAt: timestampFromMs(delegation.expiresAtMs),
      },
    }),
  })
}

function wirePrincipal({ id, kind }: PrincipalRef) {
  return { id, kind: PrincipalKind[kind] }
}
