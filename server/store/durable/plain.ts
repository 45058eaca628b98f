// Serializes plain data as JSON, for the SQL rows of a Durable Object and for messages between objects. Bytes, bigints
// and undefined array elements become objects with one of the keys below.

const bytesKey = "$bytes"
const bigintKey = "$bigint"
const undefinedKey = "$undefined"
/** Precedes a key of the data that begins with "$", which could be taken for one of the keys above. */
const escapePrefix = "$"

/**
 * @param value Objects, arrays, strings, finite numbers, booleans, null, bigints and Uint8Arrays. Undefined elements of
 *   arrays are kept; undefined members of objects are omitted.
 */
export function toText(value: unknown): string {
  return JSON.stringify(encode(value))
}

/** Parses text that `toText` wrote. The caller asserts the type. */
export function fromText<Plain>(text: string): Plain {
  return decode(JSON.parse(text)) as Plain
}

function encode(value: unknown): unknown {
  if (typeof value === "bigint") return { [bigintKey]: value.toString() }
  if (value instanceof Uint8Array) return { [bytesKey]: Buffer.from(value).toString("base64") }
  if (Array.isArray(value)) return value.map((one) => (one === undefined ? { [undefinedKey]: "" } : encode(one)))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name.startsWith("$") ? escapePrefix + name : name, encode(one)]),
  )
}

function decode(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decode)
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value)
  const [first] = entries
  if (first !== undefined && entries.length === 1 && typeof first[1] === "string") {
    if (first[0] === bytesKey) return new Uint8Array(Buffer.from(first[1], "base64"))
    if (first[0] === undefinedKey) return undefined
    if (first[0] === bigintKey) return BigInt(first[1])
  }
  return Object.fromEntries(
    entries.map(([name, one]) => [
      name.startsWith(`${escapePrefix}$`) ? name.slice(escapePrefix.length) : name,
      decode(one),
    ]),
  )
}
