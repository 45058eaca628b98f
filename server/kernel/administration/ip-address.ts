// Decides whether an IP address is on the public internet. A host name of a caller may resolve to any address, so the
// resolved address is checked, not only the name.

/** First byte or bytes and prefix length of each special-purpose block (IANA registry, RFC 6890; multicast, RFC 5771). */
const specialIpv4: readonly (readonly [text: string, prefix: number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
]

/** Global unicast. Everything outside is local, multicast, reserved, or a translation of an IPv4 address (64:ff9b::/96). */
const globalIpv6 = ["2000::", 3] as const
/** Blocks in global unicast that are special: protocol assignments with Teredo, documentation, 6to4. */
const specialIpv6: readonly (readonly [text: string, prefix: number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
]

/**
 * True for an address of a public host: not of this machine, a private network, a link, a group, documentation, nor an
 * IPv6 address that carries an IPv4 address.
 *
 * @param text Dotted IPv4 in decimal, or IPv6 (RFC 4291 section 2.2) without a zone. False for other text.
 */
export function isPublicIp(text: string): boolean {
  const v4 = ipv4Of(text)
  if (v4 !== undefined) return !specialIpv4.some(([block, prefix]) => isIn(v4, ipv4Of(block), prefix))
  const v6 = ipv6Of(text)
  if (v6 === undefined) return false
  const [global, length] = globalIpv6
  return isIn(v6, ipv6Of(global), length) && !specialIpv6.some(([block, prefix]) => isIn(v6, ipv6Of(block), prefix))
}

function isIn(address: readonly number[], block: readonly number[] = [], prefix: number): boolean {
  for (let bit = 0; bit < prefix; bit++) {
    const mask = 0x80 >> (bit & 7)
    if (((address[bit >> 3] ?? 0) & mask) !== ((block[bit >> 3] ?? 0) & mask)) return false
  }
  return true
}

function ipv4Of(text: string): readonly number[] | undefined {
  // No leading zero: some resolvers read it as octal.
  const match = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/.exec(text)
  const bytes = match?.slice(1).map(Number)
  return bytes?.every((byte) => byte <= 255) ? bytes : undefined
}

function ipv6Of(text: string): readonly number[] | undefined {
  const [head = "", tail, ...rest] = text.split("::")
  if (rest.length > 0) return undefined
  const first = groupsOf(head, tail === undefined)
  const last = tail === undefined ? [] : groupsOf(tail, true)
  if (first === undefined || last === undefined) return undefined
  const missing = 16 - first.length - last.length
  if (tail === undefined ? missing !== 0 : missing < 2) return undefined
  return [...first, ...Array.from({ length: missing }, () => 0), ...last]
}

/** Bytes of groups of four hexadecimal digits; the last group may be a dotted IPv4 address. */
function groupsOf(text: string, isEnd: boolean): readonly number[] | undefined {
  if (text === "") return []
  const bytes: number[] = []
  const groups = text.split(":")
  for (const [i, group] of groups.entries()) {
    const dotted = isEnd && i === groups.length - 1 ? ipv4Of(group) : undefined
    if (dotted !== undefined) bytes.push(...dotted)
    else if (/^[0-9a-f]{1,4}$/i.test(group))
      bytes.push(Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255)
    else return undefined
  }
  return bytes
}
