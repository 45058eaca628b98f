import { maxInside } from "./limits.ts"
import { list, opaque, type Reader, refuse, uint16 } from "./reader.ts"

/** RFC 9420 section 13. */
export interface Extension {
  /** Extension type (RFC 9420 section 17.3). */
  readonly type: number
  readonly data: Uint8Array
}

/** required_capabilities (RFC 9420 section 11.1). */
export const requiredCapabilities = 3
/** last_resort (draft-ietf-mls-extensions): a key package that is reused if no other is available. */
export const lastResort = 10
/** Signet's GroupInfo extension: the membership proof of the commit, for joining members. Private use. */
export const membershipProof = 0xf0a2

/** True for types that every client supports without listing them (RFC 9420 section 7.2). */
export function isDefaultExtension(type: number): boolean {
  return type >= 1 && type <= 5
}

/** Reads a list of extensions; a repeated type is refused (RFC 9420 section 13.4). */
export function readExtensions(reader: Reader, what: string, limit: number): Extension[] {
  const seen = new Set<number>()
  return list(reader, what, limit, (inside) => {
    const start = inside.at
    const type = uint16(inside, what)
    if (seen.has(type)) refuse(inside, "MLS_MALFORMED", `${what}: a type twice`, start)
    seen.add(type)
    return { type, data: opaque(inside, what) }
  })
}

/** Reads a list of extensions that allows only the types that V1 uses at this position. */
export function readKnownExtensions(reader: Reader, what: string, known: readonly number[]): Extension[] {
  const start = reader.at
  const extensions = readExtensions(reader, what, maxInside.extensions)
  const strange = extensions.some(({ type }) => !known.includes(type))
  if (strange) refuse(reader, "MLS_UNSUPPORTED", `${what}: a type that is not used here`, start)
  return extensions
}

export function extensionData(extensions: readonly Extension[], type: number): Uint8Array | undefined {
  return extensions.find((extension) => extension.type === type)?.data
}
