// The token types that the service signs, and the key purpose of each. Verifiers of one purpose do not accept keys of
// another (RFC 8725 sections 3.11 and 3.12), so a token of one type cannot pass as another.

/**
 * ACCESS: access tokens. STATEMENT: statements of this service about itself. CONTEXT: tokens that travel between
 * actors.
 */
export const keyPurposes = ["ACCESS", "STATEMENT", "CONTEXT"] as const
export type KeyPurpose = (typeof keyPurposes)[number]

const purposes = {
  "at+jwt": "ACCESS",
  "rev+jwt": "STATEMENT",
  "perm+jwt": "STATEMENT",
  "aud-cp+jwt": "STATEMENT",
  "ctx+jwt": "CONTEXT",
  "ekc+jwt": "CONTEXT",
} as const satisfies Record<string, KeyPurpose>

/** The `typ` headers that the service signs. */
export type SignedType = keyof typeof purposes

export const signedTypes: readonly string[] = Object.keys(purposes)

/**
 * Returns the purpose whose keys sign this type.
 *
 * @throws RangeError for a type that the service does not sign.
 */
export function purposeOf(typ: string): KeyPurpose {
  if (!isSignedType(typ)) throw new RangeError(`no key signs statements of the type ${typ}`)
  return purposes[typ]
}

function isSignedType(typ: string): typ is SignedType {
  return Object.hasOwn(purposes, typ)
}
