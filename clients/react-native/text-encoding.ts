// UTF-8 for the contract's messages on a JavaScript engine without TextEncoder or TextDecoder, as Hermes is.
import { configureTextEncoding } from "@bufbuild/protobuf/wire"

/** @throws URIError for an unpaired surrogate. */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  const escaped = encodeURIComponent(text)
  const bytes = new Uint8Array(escaped.length)
  let length = 0
  for (let at = 0; at < escaped.length; at += 1, length += 1) {
    if (escaped[at] === "%") {
      bytes[length] = Number.parseInt(escaped.slice(at + 1, at + 3), 16)
      at += 2
    } else {
      bytes[length] = escaped.charCodeAt(at)
    }
  }
  return bytes.slice(0, length)
}

/** @throws URIError for bytes that are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  let escaped = ""
  for (const byte of bytes)
    escaped += byte < 0x80 && byte !== 0x25 ? String.fromCharCode(byte) : `%${byte.toString(16)}`
  return decodeURIComponent(escaped)
}

function checkUtf8(text: string): boolean {
  try {
    encodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

if (typeof TextEncoder === "undefined" || typeof TextDecoder === "undefined") {
  // It changes this copy of the library alone. The app's own globals stay as they are.
  configureTextEncoding({ encodeUtf8, decodeUtf8, checkUtf8 })
}
