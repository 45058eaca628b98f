import { copyOf, equal } from "../crypto/bytes.ts"
import { decodeMessage, encodeMessage } from "./message-bytes.ts"
import { demand, MlsError } from "./refusal.ts"
import { type Kind, requireFew } from "./shape.ts"
import type { Decoder, MLSMessage } from "./ts-mls.ts"

/** Size limits that apply before parsing. The server's limits are equal or smaller. */
export const maxBytes = {
  application: 256 * 1024,
  commit: 1536 * 1024,
  keyPackage: 8 * 1024,
  welcome: 1024 * 1024,
  tree: 4 * 1024 * 1024,
}

/**
 * Decodes untrusted bytes. They must equal the encoding of the result: the decoder of ts-mls accepts non-minimal
 * lengths and ignores trailing bytes (defect E13 in docs/decisions/0006-mls-engine.md). `ByteReader` does so too.
 *
 * @param kind The structure whose list elements are counted before decoding. Absent if it has no list, or if `limit`
 *   keeps decoding fast.
 * @returns A value whose byte fields are views of a private copy of the input.
 * @throws MlsError MLS_TOO_LARGE, MLS_MALFORMED or MLS_NON_CANONICAL.
 */
export function decodeStrictly<T>(
  bytes: Uint8Array,
  limit: number,
  decode: Decoder<T>,
  encode: (value: T) => Uint8Array,
  kind?: Kind,
): T {
  demand(bytes.length <= limit, "MLS_TOO_LARGE", "the message exceeds the size limit")
  if (kind) requireFew(bytes, kind)
  const copy = copyOf(bytes)
  const { value, encoded } = attempt(() => {
    const decoded = decode(copy, 0)?.[0]
    return decoded === undefined ? undefined : { value: decoded, encoded: encode(decoded) }
  })
  demand(equal(encoded, copy), "MLS_NON_CANONICAL", "not the canonical encoding")
  return value
}

function attempt<T>(decode: () => T | undefined): T {
  let decoded: T | undefined
  try {
    decoded = decode()
  } catch (cause) {
    throw new MlsError("MLS_MALFORMED", "the bytes do not decode", { cause })
  }
  demand(decoded !== undefined, "MLS_MALFORMED", "the bytes do not decode")
  return decoded
}

type Wire = MLSMessage["wireformat"]
type MessageOf<W extends Wire> = Extract<MLSMessage, { wireformat: W }>

/** Decodes one MLSMessage of this wire format. */
export function strictMessage<W extends Wire>(bytes: Uint8Array, limit: number, wireformat: W): MessageOf<W> {
  const message = decodeStrictly(bytes, limit, decodeMessage, encodeMessage, "message")
  demand(isWire(message, wireformat), "MLS_WRONG_WIRE_FORMAT", "unexpected wire format")
  return message
}

function isWire<W extends Wire>(message: MLSMessage, wireformat: W): message is MessageOf<W> {
  return message.wireformat === wireformat
}
