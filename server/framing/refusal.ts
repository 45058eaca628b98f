/** Why framing is refused: a closed list. */
export const framingCodes = [
  /** Does not parse, or says what RFC 9420 forbids anybody to say. */
  "MLS_MALFORMED",
  /** Not the one encoding of what it says: a length in more bytes than it needs, something after the end. */
  "MLS_NON_CANONICAL",
  /** A message of another kind than the one that is expected here. */
  "MLS_WRONG_WIRE_FORMAT",
  /** Valid MLS that V1 does not take: another version, suite, credential, sender, proposal or extension. */
  "MLS_UNSUPPORTED",
  /** More bytes or elements than its kind may have. */
  "MLS_TOO_LARGE",
] as const

export type FramingCode = (typeof framingCodes)[number]

/** The only error of this folder. Its message names a field and a place, never a value. */
export class FramingRefused extends Error {
  readonly code: FramingCode
  /** What was being read. */
  readonly what: string
  /** Where, in bytes from the beginning of what was handed in. */
  readonly offset: number

  constructor(code: FramingCode, what: string, offset: number) {
    super(`${code}: ${what}, at byte ${offset}`)
    this.name = "FramingRefused"
    this.code = code
    this.what = what
    this.offset = offset
  }
}
