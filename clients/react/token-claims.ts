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
  const textOf = (name: string): string => {
    const value: unknown = typeof claims === "object" && claims !== null ? Reflect.get(claims, name) : undefined
    return typeof value === "string" ? value : ""
  }
  return { audience: textOf("aud"), scopes: new Set(textOf("scope").split(" ").filter(Boolean)) }
}
