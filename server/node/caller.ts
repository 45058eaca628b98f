import { type ContextValues, createContextValues } from "@connectrpc/connect"
import type { FastifyRequest } from "fastify"
import { networkOf, truncateAddress } from "../serving/address.ts"
import { kCall } from "../serving/call/call.ts"

/** The facts about the connection that handlers may use. */
export function contextValuesOf(request: FastifyRequest): ContextValues {
  // `ip` is missing if the connection has already closed, whatever its type says.
  const { id: requestId, ip = "" } = request
  return createContextValues().set(kCall, { requestId, ipTruncated: truncateAddress(ip), network: networkOf(ip) })
}
