import { isIPv4, isIPv6 } from "node:net"
import { type ContextValues, createContextValues } from "@connectrpc/connect"
import type { FastifyRequest } from "fastify"
import { kCall } from "../rpc/call.ts"

/** An address without its last part: /24 of IPv4, /48 of IPv6. Null for what is no address. */
export function truncateAddress(address: string): string | null {
  const mapped = address.replace(/^::ffff:/i, "")
  if (isIPv4(mapped)) return `${mapped.split(".").slice(0, 3).join(".")}.0/24`
  if (!isIPv6(address)) return null
  const [head = "", tail = ""] = address.split("::")
  const heads = head === "" ? [] : head.split(":")
  const tails = tail === "" ? [] : tail.split(":")
  const zeros = address.includes("::") ? Array<string>(8 - heads.length - tails.length).fill("0") : []
  return `${[...heads, ...zeros, ...tails].slice(0, 3).join(":")}::/48`
}

/** What handlers may know of the connection. */
export function contextValuesOf(request: FastifyRequest): ContextValues {
  return createContextValues().set(kCall, { requestId: request.id, ipTruncated: truncateAddress(request.ip) })
}
