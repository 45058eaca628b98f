export interface Claims {
  readonly audience: string
  readonly scopes: ReadonlySet<string>
}

/**
 * Reads audience and scopes of an access token (RFC 9068) without verifying it: it came from the service itself, and the
 * page only leaves out what would be refused.
 */
export function claimsIn(token: string): Claims {
  const payload = token.split(".")[1] ?? ""
  const claims: unknown = JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/")))
  const claimOf = (name: string): unknown =>
    typeof claims === "object" && claims !== null ? Reflect.get(claims, name) : undefined
  const [audience, scopes] = [claimOf("aud"), claimOf("scp")]
  return {
    audience: typeof audience === "string" ? audience : "",
    scopes: new Set(Array.isArray(scopes) ? scopes.filter((one) => typeof one === "string") : []),
  }
}
