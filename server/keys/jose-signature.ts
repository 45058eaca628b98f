const numberBytes = 32
const integerTag = 0x02

/**
 * Converts an ECDSA signature over P-256 from DER to r and s of 32 bytes each (RFC 7518 section 3.4).
 *
 * @throws RangeError for anything but a sequence of two positive integers of at most 256 bits.
 */
export function joseSignature(der: Buffer): Buffer {
  const signature = Buffer.alloc(2 * numberBytes)
  // The sequence is shorter than 128 bytes, so its header is a tag and a length.
  let at = 2
  for (let end = numberBytes; end <= 2 * numberBytes; end += numberBytes) {
    const length = der[at + 1] ?? 0
    // DER precedes a number whose first bit is set with a zero byte.
    const sign = length > numberBytes && der[at + 2] === 0 ? 1 : 0
    const size = length - sign
    const from = at + 2 + sign
    if (der[at] !== integerTag || size < 1 || size > numberBytes || from + size > der.length) {
      throw new RangeError("the signature is not an ECDSA signature over P-256 in DER")
    }
    der.copy(signature, end - size, from, from + size)
    at = from + size
  }
  if (at !== der.length) throw new RangeError("the signature has bytes after its two numbers")
  return signature
}
