// What the service signs, and with which of its keys. A verifier of one purpose never meets a key of another
// (RFC 8725 sections 3.11 and 3.12), so a token of one kind can never be taken for one of another.

/** ACCESS: bearers. STATEMENT: what the service says of itself. CONTEXT: what travels between actors. */
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

/** A JWS header's `typ` that the service signs. */
export type SignedType = keyof typeof purposes

export const signedTypes: readonly string[] = Object.keys(purposes)

/**
 * The keys that sign this type.
 *
 * @throws RangeError when nothing of the type is signed here.
 */
export function purposeOf(typ: string): KeyPurpose {
  if (!isSignedType(typ)) throw new RangeError(`no key signs statements of the type ${typ}`)
  return purposes[typ]
}

function isSignedType(typ: string): typ is SignedType {
  return Object.hasOwn(purposes, typ)
}
