// Strict parsing of a JWT's parts: every text has one interpretation.

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const base64url = /^[A-Za-z0-9_-]*$/
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/** Decodes base64url without padding; undefined for non-canonical text. */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  const rest = text.length % 4
  if (rest === 1 || !base64url.test(text)) return undefined
  // Unused bits of the last character must be zero; otherwise several texts would decode to the same bytes.
  if (rest > 0 && alphabet.indexOf(text.charAt(text.length - 1)) % (rest === 2 ? 16 : 4) !== 0) return undefined
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"))
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
  return bytes
}

/** Decodes a JSON object from base64url; undefined if it is not an object or not valid UTF-8. */
export function decodeObject(part: string): { object: Readonly<Record<string, unknown>>; text: string } | undefined {
  const bytes = decodeBase64url(part)
  if (bytes === undefined) return undefined
  try {
    const text = utf8.decode(bytes)
    const object: unknown = JSON.parse(text)
    return isObject(object) ? { object, text } : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g

/** True if an object in the text repeats a name. The text must be valid JSON; escapes in names are resolved. */
export function hasDuplicateNames(text: string): boolean {
  // The names of each open object; undefined for an open array.
  const open: (Set<string> | undefined)[] = []
  let last = ""
  for (const [part] of text.matchAll(token)) {
    if (part === "{") open.push(new Set())
    else if (part === "[") open.push(undefined)
    else if (part === "}" || part === "]") open.pop()
    else if (part.startsWith('"') && (last === "{" || last === ",")) {
      const names = open.at(-1)
      const name: string = JSON.parse(part)
      if (names?.has(name)) return true
      names?.add(name)
    }
    last = part
  }
  return false
}
