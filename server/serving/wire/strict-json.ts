import type { JsonValue } from "@bufbuild/protobuf"
import { Refused } from "@signet/kernel/errors"

/** The deepest nesting of objects and arrays. */
export const maxDepth = 32

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/**
 * Parses JSON (RFC 8259) more strictly: UTF-8 without a byte order mark, no duplicate member, at most 32 levels.
 *
 * @throws Refused MALFORMED_REQUEST, DUPLICATE_FIELD, NESTING_TOO_DEEP
 */
export function parseStrictJson(bytes: Uint8Array): JsonValue {
  const text = decodeUtf8(bytes)
  const scanned = scan(text)
  if (scanned.isTooDeep) throw new Refused("NESTING_TOO_DEEP")
  let value: JsonValue
  try {
    value = JSON.parse(text)
  } catch {
    // The parser's own message contains the input.
    throw new Refused("MALFORMED_REQUEST", { message: "the body is not JSON" })
  }
  if (scanned.duplicate !== undefined) {
    throw new Refused("DUPLICATE_FIELD", { metadata: { field: shown(scanned.duplicate) } })
  }
  return value
}

/** @throws Refused MALFORMED_REQUEST */
function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new Refused("MALFORMED_REQUEST", { message: "the body is not UTF-8" })
  }
}

/** A caller's name, truncated and printable, for error messages. */
export const shown = (name: string): string => name.slice(0, 64).replace(/[^\x20-\x7e]/g, "?")

const quote = 0x22
const backslash = 0x5c

/**
 * Checks nesting and member names only; the parser checks the rest. Stops at the first level that is too deep, so a
 * bomb costs 33 steps.
 */
function scan(text: string): { isTooDeep: boolean; duplicate: string | undefined } {
  // One entry per level: the names of an object, or null for an array.
  const levels: (Set<string> | null)[] = []
  let duplicate: string | undefined
  let isName = false
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote: {
        const end = endOfString(text, at)
        const names = levels.at(-1)
        if (isName && names) {
          const name = nameOf(text.slice(at, end + 1))
          if (names.has(name)) duplicate ??= name
          names.add(name)
          isName = false
        }
        at = end
        break
      }
      case 0x7b: // {
        levels.push(new Set())
        isName = true
        break
      case 0x5b: // [
        levels.push(null)
        isName = false
        break
      case 0x7d: // }
      case 0x5d: // ]
        levels.pop()
        isName = false
        break
      case 0x2c: // ,
        isName = levels.at(-1) instanceof Set
        break
    }
    if (levels.length > maxDepth) return { isTooDeep: true, duplicate }
  }
  return { isTooDeep: false, duplicate }
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) return at
    if (code === backslash) at++
  }
  return text.length
}

/** The name of a quoted text without escapes, so that "a" and its escaped form are equal. */
function nameOf(quoted: string): string {
  if (!quoted.includes("\\")) return quoted.slice(1, -1)
  try {
    return String(JSON.parse(quoted))
  } catch {
    return quoted
  }
}
