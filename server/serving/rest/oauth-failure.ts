import type { ConnectError } from "@connectrpc/connect"
import { refusals } from "@signet/kernel/errors"
import { oauthErrorOf, oauthErrors } from "@signet/kernel/token/oauth-error"
import { errorInfo, reasonOf } from "../errors.ts"

/**
 * A refusal in the form of RFC 6749 section 5.2, with the reason and the request's id. The status is 400, except for
 * the errors to which other sections assign another status.
 */
export function oauthFailure(error: ConnectError, requestId: string, written: Headers | undefined) {
  const reason = reasonOf(error) ?? "INTERNAL"
  const code = oauthErrorOf(reason, { ...errorInfo(error)?.metadata })
  const status = oauthErrors[code]
  const headers = new Headers(written)
  for (const [name, value] of error.metadata) headers.append(name, value)
  // A challenge belongs to 401, and to 403 where another bearer token would help.
  if (status !== 401 && status !== 403) headers.delete("www-authenticate")
  headers.set("cache-control", "no-store")
  headers.set("content-type", "application/json")
  const description = reason === "INTERNAL" ? refusals[reason].message : error.rawMessage
  const body = {
    error: code,
    // Section 5.2 allows printable ASCII without quote and backslash.
    error_description: description.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, ""),
    reason,
    trace_id: requestId,
  }
  return { status, headers, body: JSON.stringify(body) }
}
