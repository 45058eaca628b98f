// Decodes a token without verifying it.

interface Decoded {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

/** Undefined for a text that is no JWT. */
export function decodeToken(token: string): Decoded | undefined {
  const [header, claims, signature, ...more] = token.split(".")
  if (header === undefined || claims === undefined || signature === undefined || more.length > 0) return undefined
  try {
    return { header: decodePart(header), claims: decodePart(claims) }
  } catch {
    return undefined
  }
}

/** A claim with a text value. */
export function claimText(claims: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = claims[name]
  return typeof value === "string" ? value : undefined
}

function decodePart(part: string): Readonly<Record<string, unknown>> {
  const json: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"))
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw new Error("no object")
  return Object.fromEntries(Object.entries(json))
}
