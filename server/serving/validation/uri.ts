// URI of RFC 3986 with the zone identifiers of RFC 6874 and, as in protovalidate, without IPv4 inside of IPv6. The
// alternatives start with different characters, so matching takes linear time.
const unreserved = "A-Za-z0-9._~\\-"
const subDelims = "!$&'()*+,;="
const escaped = "%[0-9A-Fa-f]{2}"
const some = (characters: string): string => `(?:[${characters}]|${escaped})`

const pchar = some(`${unreserved}${subDelims}:@`)
const regName = `${some(unreserved + subDelims)}*`
const future = `v[0-9A-Fa-f]+\\.[${unreserved}${subDelims}:]+`
const address = `(?<ipv6>[0-9A-Fa-f:]+)(?:%25${some(unreserved)}+)?`
const authority = `(?:${some(`${unreserved}${subDelims}:`)}*@)?(?:\\[(?:${address}|${future})\\]|(?<name>${regName}))(?::[0-9]*)?`
const hierarchy = `(?://${authority}(?:/${pchar}*)*|/(?:${pchar}+(?:/${pchar}*)*)?|${pchar}+(?:/${pchar}*)*|)`
const rest = `(?:[?](?:${pchar}|[/?])*)?(?:#(?:${pchar}|[/?])*)?`
const uri = new RegExp(`^[A-Za-z][A-Za-z0-9+.\\-]*:${hierarchy}${rest}$`, "u")

/** True for a URI with a scheme. A percent-encoded host must be UTF-8 (RFC 3986 section 3.2.2). */
export function isUri(text: string): boolean {
  const groups = uri.exec(text)?.groups
  if (groups === undefined) return false
  const { ipv6, name } = groups
  return (ipv6 === undefined || isIpv6(ipv6)) && (name === undefined || isUtf8(name))
}

const isIpv6 = (text: string): boolean => URL.canParse(`http://[${text}]`)

function isUtf8(escapedText: string): boolean {
  try {
    decodeURIComponent(escapedText)
    return true
  } catch {
    return false
  }
}
