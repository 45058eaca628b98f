// Validates the addresses (URLs) that administrators configure. Stricter than RFC 3986: lower-case ASCII host names, no
// user information, no fragment.

interface Address {
  readonly scheme: string
  readonly host: string
  /** Digits; empty for the scheme's default. */
  readonly port: string
  /** Includes the query. */
  readonly path: string
}

const shape =
  /^(https?):\/\/([a-z0-9.-]{1,253}|\[::1\])(?::([0-9]{1,5}))?((?:\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?)$/
const loopback = /^(localhost|127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}|\[::1\])$/
/** A host name with a dot whose last label is not a number: neither an IP address nor a single-label intranet name. */
const publicName = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Special-use names that resolve to this machine or the local network (RFC 6761, RFC 6762, RFC 8375, ICANN's
 * "internal").
 */
const innerName = /(^|\.)(localhost|local|internal|home\.arpa)$/

function parse(text: string): Address | undefined {
  const match = shape.exec(text)
  if (match === null) return undefined
  const [, scheme = "", host = "", port = "", path = ""] = match
  return { scheme, host, port, path }
}

/** True if the server may send requests to this URL: HTTPS at a public host name. Development also allows loopback. */
export function isServerAddress(text: string, isLoopbackAllowed: boolean): boolean {
  const address = parse(text)
  if (address === undefined) return false
  if (loopback.test(address.host)) return isLoopbackAllowed
  return address.scheme === "https" && publicName.test(address.host) && !innerName.test(address.host)
}

/** The host of a server address on port 443, or of a loopback address on any port; undefined for other URLs. */
export function serverHostOf(text: string, isLoopbackAllowed: boolean): string | undefined {
  const address = parse(text)
  if (address === undefined || !isServerAddress(text, isLoopbackAllowed)) return undefined
  return loopback.test(address.host) || ["", "443"].includes(address.port) ? address.host : undefined
}

/**
 * True for the root URL of a server the server may call. Only loopback URLs may have a path: stand-in providers share a
 * port.
 */
export function isServerRoot(text: string, isLoopbackAllowed: boolean): boolean {
  const address = parse(text)
  if (address === undefined || !isServerAddress(text, isLoopbackAllowed)) return false
  return address.path === "" || (loopback.test(address.host) && !/[?]|\/$/.test(address.path))
}

/** True if browsers may come from or be redirected to this URL: HTTPS. Development also allows loopback. */
export function isPageAddress(text: string, isLoopbackAllowed: boolean): boolean {
  const address = parse(text)
  if (address === undefined) return false
  return loopback.test(address.host) ? isLoopbackAllowed : address.scheme === "https"
}

/** True for a page address or an app's private-use URI scheme: a reversed domain name (RFC 8252 section 7.1). */
export function isRedirectAddress(text: string, isLoopbackAllowed: boolean): boolean {
  if (/^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+:\/[A-Za-z0-9._~/-]*$/.test(text)) return true
  return isPageAddress(text, isLoopbackAllowed)
}
