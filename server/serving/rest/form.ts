// application/x-www-form-urlencoded as RFC 6749 reads it (section 3.2 and appendix B): every parameter at most once,
// unknown ones ignored. Stricter than a browser's reader in one thing: what no encoder writes is refused, not guessed at.
import type { DescField, DescMessage, JsonValue } from "@bufbuild/protobuf"
import { Refused } from "@signet/kernel/errors"

const maxParameters = 64
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/**
 * The parameters of a form, in their order.
 *
 * @throws Refused MALFORMED_REQUEST, and DUPLICATE_FIELD for a name that comes twice, known or not.
 */
export function parseForm(bytes: Uint8Array): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  for (const part of decodeText(bytes).split("&")) {
    if (part === "") continue
    const at = part.indexOf("=")
    const name = decodePart(at < 0 ? part : part.slice(0, at))
    const value = at < 0 ? "" : decodePart(part.slice(at + 1))
    // The name is not repeated in the answer: it may be a secret that went astray.
    if (parameters.has(name)) throw new Refused("DUPLICATE_FIELD", { message: "a parameter occurs twice" })
    if (parameters.size === maxParameters) throw malformed()
    parameters.set(name, value)
  }
  return parameters
}

/**
 * The form as the JSON of the message that its method takes. A parameter without a value counts as absent (RFC 6749
 * section 3.2), unless its field knows the difference: an empty credential is not taken for none.
 */
export function formJson(desc: DescMessage, parameters: ReadonlyMap<string, string>): JsonValue {
  const json: Record<string, JsonValue> = {}
  for (const field of desc.fields) {
    const value = parameters.get(field.jsonName)
    if (value === undefined || (value === "" && !knowsPresence(field))) continue
    json[field.jsonName] = value
  }
  return json
}

const knowsPresence = (field: DescField): boolean => field.proto.proto3Optional

function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw malformed()
  }
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    throw malformed()
  }
}

const malformed = (): Refused => new Refused("MALFORMED_REQUEST", { message: "the body is not a form" })
