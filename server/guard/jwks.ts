import type { EcPublicJwk } from "./token-crypto.ts"

const maxKeys = 16
const coordinate = /^[A-Za-z0-9_-]{43}$/
const kidPattern = /^[A-Za-z0-9_-]{1,128}$/

/**
 * Parses the ES256 keys of a JWK Set (RFC 7517 section 5). Other keys are ignored, as section 5 requires.
 *
 * @throws Error if the text is not a JWK Set, has more than 16 keys, or repeats a kid.
 */
export function parseJwks(text: string): readonly EcPublicJwk[] {
  const set: unknown = JSON.parse(text)
  if (!isJson(set) || !Array.isArray(set.keys)) throw new Error("not a JWK Set")
  if (set.keys.length > maxKeys) throw new Error("too many keys")
  const keys = set.keys.flatMap((key: unknown) => {
    const parsed = parseKey(key)
    return parsed === undefined ? [] : [parsed]
  })
  if (new Set(keys.map(({ kid }) => kid)).size !== keys.length) throw new Error("two keys have the same kid")
  return keys
}

function parseKey(key: unknown): EcPublicJwk | undefined {
  if (!isJson(key) || key.kty !== "EC" || key.crv !== "P-256" || key.use !== "sig") return undefined
  if (key.alg !== undefined && key.alg !== "ES256") return undefined
  const { kid, x, y } = key
  if (typeof kid !== "string" || !kidPattern.test(kid)) return undefined
  if (typeof x !== "string" || !coordinate.test(x) || typeof y !== "string" || !coordinate.test(y)) return undefined
  return { kid, x, y }
}

function isJson(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
