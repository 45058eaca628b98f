import { type Reason, type Refused, refusals } from "@signet/kernel/errors"

/** Reasons of a 401 whose credential was in the body or missing: the challenge names no error (RFC 6750 section 3.1). */
const withoutError: ReadonlySet<Reason> = new Set<Reason>([
  "NO_CREDENTIAL",
  "PROVIDER_TOKEN_INVALID",
  "PROVIDER_TOKEN_REPLAYED",
  "NONCE_MISMATCH",
  "REFRESH_TOKEN_INVALID",
  "REFRESH_TOKEN_REUSED",
])

/**
 * Returns the WWW-Authenticate header of a refusal (RFC 6750 section 3, RFC 9470 section 3); undefined if it has none.
 * Reads `scope` (space-separated), `max_age` (seconds) and `error` (RFC 6749) from the refusal's metadata.
 */
export function challengeOf(refused: Refused): string | undefined {
  if (refused.reason === "MISSING_SCOPE") {
    return bearer({ error: "insufficient_scope", scope: refused.metadata.scope })
  }
  if (refused.reason === "STEP_UP_REQUIRED") {
    return bearer({ error: "insufficient_user_authentication", max_age: refused.metadata.max_age })
  }
  if (refused.status !== 401) return undefined
  // RFC 6749 section 5.2: the challenge names the client's authentication method.
  if (refused.reason === "CLIENT_INVALID") return `Basic realm="signet", charset="UTF-8"`
  // The rejected token was in the body; it is not the caller's own.
  if (refused.metadata.error === "invalid_grant") return undefined
  if (withoutError.has(refused.reason)) return bearer({})
  return bearer({ error: "invalid_token", error_description: refusals[refused.reason].message })
}

function bearer(parameters: Readonly<Record<string, string | undefined>>): string {
  const parts = [`realm="signet"`]
  for (const [name, value] of Object.entries(parameters)) {
    // Only printable ASCII without quote and backslash, so that no value can end the quoted string.
    if (value !== undefined) parts.push(`${name}="${value.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "")}"`)
  }
  return `Bearer ${parts.join(", ")}`
}
