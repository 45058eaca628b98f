import { type ContextValues, createContextValues } from "@connectrpc/connect"
import type { FastifyRequest } from "fastify"
import { networkOf, truncateAddress } from "../serving/address.ts"
import { kCall } from "../serving/call/call.ts"

/** What handlers may know of the connection. */
export function contextValuesOf(request: FastifyRequest): ContextValues {
  // None when the connection has gone already, whatever the type says.
  const { id: requestId, ip = "" } = request
  return createContextValues().set(kCall, { requestId, ipTruncated: truncateAddress(ip), network: networkOf(ip) })
}
