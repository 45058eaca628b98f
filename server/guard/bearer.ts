import type { Reason } from "@signet/kernel/errors"

// b64token (RFC 6750 section 2.1). Two headers arrive joined by a comma, which b64token does not contain.
const bearer = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i

/**
 * Returns the bearer token of an Authorization header.
 *
 * @param header The header as sent; null or undefined if there is none.
 */
export function parseBearer(header: string | null | undefined): { readonly token: string } | Reason {
  if (header === null || header === undefined) return "NO_CREDENTIAL"
  const token = bearer.exec(header)?.[1]
  if (token === undefined) return "MALFORMED_CREDENTIAL"
  if (token.startsWith("sgpat_")) return "PAT_NOT_BEARER"
  if (token.startsWith("sgrt_")) return "REFRESH_TOKEN_NOT_BEARER"
  return { token }
}
