// Serializes plain data as text, for storage inside an object. Bytes and bigints are supported, as in structured
// clones.

const bytesKey = "$bytes"
const bigintKey = "$bigint"
const undefinedKey = "$undefined"

/**
 * @param value Objects, arrays, strings, finite numbers, booleans, null, bigints and Uint8Arrays. Undefined members of
 *   objects are omitted.
 */
export function toText(value: unknown): string {
  return JSON.stringify(written(value))
}

/** The value that `toText` got; the caller knows its type. */
export function fromText<Plain>(text: string): Plain {
  return read(JSON.parse(text)) as Plain
}

function written(value: unknown): unknown {
  if (typeof value === "bigint") return { [bigintKey]: value.toString() }
  if (value instanceof Uint8Array) return { [bytesKey]: Buffer.from(value).toString("base64") }
  if (Array.isArray(value)) return value.map((one) => (one === undefined ? { [undefinedKey]: "" } : written(one)))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, written(one)]))
}

function read(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(read)
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value)
  const [first] = entries
  if (first !== undefined && entries.length === 1 && typeof first[1] === "string") {
    if (first[0] === bytesKey) return new Uint8Array(Buffer.from(first[1], "base64"))
    if (first[0] === undefinedKey) return undefined
    if (first[0] === bigintKey) return BigInt(first[1])
  }
  return Object.fromEntries(entries.map(([name, one]) => [name, read(one)]))
}
