/** Why framing is refused: a closed list. */
export const framingCodes = [
  /** Cannot be parsed, or violates RFC 9420. */
  "MLS_MALFORMED",
  /** Not the canonical encoding: a length is longer than necessary, or bytes follow the end. */
  "MLS_NON_CANONICAL",
  /** Another kind of message than expected. */
  "MLS_WRONG_WIRE_FORMAT",
  /** Valid MLS that V1 does not support: another version, cipher suite, credential, sender, proposal or extension. */
  "MLS_UNSUPPORTED",
  /** More bytes or elements than the limit. */
  "MLS_TOO_LARGE",
] as const

export type FramingCode = (typeof framingCodes)[number]

/** The error of this folder. Its message names a field and a position, never a value. */
export class FramingRefused extends Error {
  readonly code: FramingCode
  /** The field that was being read. */
  readonly what: string
  /** Position in bytes from the start of the input. */
  readonly offset: number

  constructor(code: FramingCode, what: string, offset: number) {
    super(`${code}: ${what}, at byte ${offset}`)
    this.name = "FramingRefused"
    this.code = code
    this.what = what
    this.offset = offset
  }
}

/** More bytes than the limit of a whole message. Parts and lists of a message are refused by a plain FramingRefused. */
export class FramingOversized extends FramingRefused {
  constructor(what: string, maxBytes: number) {
    super("MLS_TOO_LARGE", what, maxBytes)
  }
}
