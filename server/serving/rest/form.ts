// Parses application/x-www-form-urlencoded as RFC 6749 defines it (section 3.2 and appendix B): each parameter at most
// once, unknown ones ignored. Stricter than a browser's parser: a text that no encoder produces is refused.
import type { DescField, DescMessage, JsonValue } from "@bufbuild/protobuf"
import { Refused } from "@signet/kernel/errors"

const maxParameters = 64
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/**
 * The parameters of a form, in order.
 *
 * @throws Refused MALFORMED_REQUEST; DUPLICATE_FIELD for a name that occurs twice, known or not.
 */
export function parseForm(bytes: Uint8Array): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  for (const part of decodeText(bytes).split("&")) {
    if (part === "") continue
    const at = part.indexOf("=")
    const name = decodePart(at < 0 ? part : part.slice(0, at))
    const value = at < 0 ? "" : decodePart(part.slice(at + 1))
    // The answer omits the name, which may be a misplaced secret.
    if (parameters.has(name)) throw new Refused("DUPLICATE_FIELD", { message: "a parameter occurs twice" })
    if (parameters.size === maxParameters) throw malformed()
    parameters.set(name, value)
  }
  return parameters
}

/**
 * Converts the form to the JSON of the method's request. A parameter without a value counts as absent (RFC 6749 section
 * 3.2), unless its field has presence: an empty credential is not an absent one.
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
