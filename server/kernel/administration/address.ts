// Addresses that administrators configure. Stricter than RFC 3986: lower-case names in ASCII, no user, no fragment.

interface Address {
  readonly scheme: string
  readonly host: string
  /** With a query, if there is one. */
  readonly path: string
}

const shape =
  /^(https?):\/\/([a-z0-9.-]{1,253}|\[::1\])(?::[0-9]{1,5})?((?:\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?)$/
const loopback = /^(localhost|127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}|\[::1\])$/
/** A name with a dot whose last label is no number: neither an address nor a name of the inner network. */
const publicName = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/

/** Names that resolvers keep to this machine or the inner network (RFC 6761, RFC 6762, RFC 8375, ICANN's "internal"). */
const innerName = /(^|\.)(localhost|local|internal|home\.arpa)$/

function parse(text: string): Address | undefined {
  const match = shape.exec(text)
  return match === null ? undefined : { scheme: match[1] ?? "", host: match[2] ?? "", path: match[3] ?? "" }
}

/** Whether the service may be told to ask there: HTTPS at a public name, and in development also loopback. */
export function isServerAddress(text: string, isLoopbackAllowed: boolean): boolean {
  const address = parse(text)
  if (address === undefined) return false
  if (loopback.test(address.host)) return isLoopbackAllowed
  return address.scheme === "https" && publicName.test(address.host) && !innerName.test(address.host)
}

/** The same, of a server as a whole: a path only in development, where several share one. */
export function isServerRoot(text: string, isLoopbackAllowed: boolean): boolean {
  const address = parse(text)
  if (address === undefined || !isServerAddress(text, isLoopbackAllowed)) return false
  return address.path === "" || (loopback.test(address.host) && !/[?]|\/$/.test(address.path))
}

/** Whether browsers may be let in from there, or sent there: HTTPS, and in development also loopback. */
export function isPageAddress(text: string, isLoopbackAllowed: boolean): boolean {
  const address = parse(text)
  if (address === undefined) return false
  return loopback.test(address.host) ? isLoopbackAllowed : address.scheme === "https"
}

/** The same, or an app by its private-use scheme, which is a domain in reverse (RFC 8252 section 7.1). */
export function isRedirectAddress(text: string, isLoopbackAllowed: boolean): boolean {
  if (/^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+:\/[A-Za-z0-9._~/-]*$/.test(text)) return true
  return isPageAddress(text, isLoopbackAllowed)
}
