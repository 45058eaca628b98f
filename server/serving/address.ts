// Truncates client addresses for logs, and for the keys of rate limits.

/** An address without its last part: /24 of IPv4, /48 of IPv6. Null for a text that is no address. */
export function truncateAddress(address: string): string | null {
  const mapped = address.replace(/^::ffff:/i, "")
  if (isIPv4(mapped)) return `${mapped.split(".").slice(0, 3).join(".")}.0/24`
  if (!isIPv6(address)) return null
  return `${groupsOf(address).slice(0, 3).join(":")}::/48`
}

/**
 * The network that limits count: an IPv4 address, or the /64 of an IPv6 address, the smallest prefix of a customer (RFC
 * 6177). Null for a text that is no address.
 */
export function networkOf(address: string): string | null {
  const mapped = address.replace(/^::ffff:/i, "")
  if (isIPv4(mapped)) return mapped
  if (!isIPv6(address)) return null
  return `${groupsOf(address).slice(0, 4).join(":")}::/64`
}

const isIPv4 = (text: string): boolean => {
  const parts = text.split(".")
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)
}

/** True for an IPv6 address, with an optional zone. */
const isIPv6 = (text: string): boolean =>
  /^[0-9a-f:.]+(%[0-9a-z]+)?$/i.test(text) && URL.canParse(`http://[${text.split("%")[0]}]`)

/** The eight groups of an IPv6 address in their shortest form. */
function groupsOf(address: string): string[] {
  const [head = "", tail = ""] = (address.split("%")[0] ?? "").split("::")
  const heads = head === "" ? [] : head.split(":")
  const tails = tail === "" ? [] : tail.split(":")
  const zeros = address.includes("::") ? Array<string>(8 - heads.length - tails.length).fill("0") : []
  return [...heads, ...zeros, ...tails].map((group) => Number.parseInt(group, 16).toString(16))
}
