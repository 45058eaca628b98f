/** Base64url without padding (RFC 4648 section 5). */
export const encode = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")

/** Undefined for a text that is not base64url without padding. */
export function decode(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(text) || text.length % 4 === 1) return undefined
  return bytesOf(atob(text.replaceAll("-", "+").replaceAll("_", "/")))
}

/** The bytes of a binary string, which `atob` returns. Iterating it with `Uint8Array.from` costs ten times as much. */
export function bytesOf(binary: string): Uint8Array {
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
  return bytes
}
