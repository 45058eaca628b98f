import { copyOf, equal } from "../crypto/bytes.ts"
import { demand, EngineRefused } from "./refusal.ts"
import { type Decoder, decodeMlsMessage, encodeMlsMessage, type MLSMessage } from "./ts-mls.ts"

/** Bytes accepted before anything is parsed (the server's limits are the same or smaller). */
export const maxBytes = {
  application: 256 * 1024,
  commit: 1536 * 1024,
  keyPackage: 8 * 1024,
  welcome: 1024 * 1024,
  tree: 4 * 1024 * 1024,
}

/**
 * Decodes bytes that came from somebody else: they must be exactly what encoding the result gives.
 *
 * The engine's decoder takes lengths in more bytes than they need, and ignores what follows (defect E13).
 *
 * @returns a value whose byte fields are views of a private copy of the input.
 * @throws EngineRefused MLS_TOO_LARGE, MLS_MALFORMED or MLS_NON_CANONICAL.
 */
export function strictly<T>(bytes: Uint8Array, limit: number, decode: Decoder<T>, encode: (value: T) => Uint8Array): T {
  demand(bytes.length <= limit, "MLS_TOO_LARGE", "larger than its kind may be")
  const copy = copyOf(bytes)
  const { value, again } = attempt(() => {
    const decoded = decode(copy, 0)?.[0]
    return decoded === undefined ? undefined : { value: decoded, again: encode(decoded) }
  })
  demand(equal(again, copy), "MLS_NON_CANONICAL", "not the one encoding of what it says")
  return value
}

function attempt<T>(decode: () => T | undefined): T {
  let decoded: T | undefined
  try {
    decoded = decode()
  } catch (cause) {
    throw new EngineRefused("MLS_MALFORMED", "does not decode", { cause })
  }
  demand(decoded !== undefined, "MLS_MALFORMED", "does not decode")
  return decoded
}

type Wire = MLSMessage["wireformat"]
type MessageOf<W extends Wire> = Extract<MLSMessage, { wireformat: W }>

/** One whole MLSMessage of the wire format that is expected here. */
export function strictMessage<W extends Wire>(bytes: Uint8Array, limit: number, wireformat: W): MessageOf<W> {
  const message = strictly(bytes, limit, decodeMlsMessage, encodeMlsMessage)
  demand(isWire(message, wireformat), "MLS_WRONG_WIRE_FORMAT", "another wire format is expected here")
  return message
}

function isWire<W extends Wire>(message: MLSMessage, wireformat: W): message is MessageOf<W> {
  return message.wireformat === wireformat
}
