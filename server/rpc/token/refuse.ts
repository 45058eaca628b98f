import { type Reason, Refused } from "@signet/kernel/errors"
import type { ClientFacts } from "@signet/kernel/machine/ports"
import { type OAuthError, oauthErrorOf } from "@signet/kernel/token/oauth-error"
import { audited } from "../audit/refusals.ts"

/** A refusal of the token endpoint: the reason, and its RFC 6749 error code, also for callers over RPC. */
export function refusal(
  reason: Reason,
  options: { error?: OAuthError; message?: string; field?: string; scope?: string } = {},
): Refused {
  const { error, message, field, scope } = options
  return new Refused(reason, {
    ...(message === undefined ? {} : { message }),
    metadata: {
      error: error ?? oauthErrorOf(reason, {}),
      ...(field === undefined ? {} : { field }),
      ...(scope === undefined ? {} : { scope }),
    },
  })
}

export const invalidRequest = (field: string, message: string): Refused =>
  refusal("INVALID_FIELD", { error: "invalid_request", field, message })

/** @param facts The client that the credential names: the audit event names it, the answer does not. */
export function clientRefusal(facts?: Pick<ClientFacts, "account">): Refused {
  const { id, appId, tenantId } = facts?.account ?? { id: undefined, appId: null, tenantId: null }
  const target = id === undefined ? null : { type: "service_account", id }
  const refused = { kind: "client.authentication_failed", outcome: "DENIED", appId, tenantId, target } as const
  return audited(refusal("CLIENT_INVALID"), refused)
}
