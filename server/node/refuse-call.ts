import { createConnectRouter, type MethodImpl } from "@connectrpc/connect"
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node"
import type { Refused } from "@signet/kernel/errors"
import { Health } from "@signet/proto/grpc/health/v1/health"
import type { FastifyReply, FastifyRequest } from "fastify"
import { refusalError } from "../serving/errors.ts"
import { envelopeOf, refuseCall as refusalOf } from "../serving/rest/refuse-call.ts"
import { sendResponse } from "./rest-plugin.ts"

/** Sends a refusal: a problem document over REST, an error over Connect, a status over gRPC and gRPC-Web. */
export async function refuseCall(refused: Refused, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const [path = ""] = request.url.split("?")
  const refusing = { id: request.id, verb: request.method, path, contentType: request.headers["content-type"] ?? "" }
  if (envelopeOf(refusing) !== undefined) return refuseEnveloped(refused, request, reply)
  sendResponse(reply, refusalOf(refused, refusing))
}

/** A gRPC status needs Connect's serializers, so a method that always refuses replaces the missing one. */
async function refuseEnveloped(refused: Refused, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const never: MethodImpl<typeof Health.method.watch> = () => {
    throw refusalError(refused)
  }
  const router = createConnectRouter({
    requestGate() {
      throw refusalError(refused)
    },
  }).rpc(Health.method.watch, never)
  const [handler] = router.handlers
  if (handler === undefined) return
  reply.hijack()
  reply.raw.setHeader("cache-control", "no-store")
  request.raw.resume()
  const response = await handler(universalRequestFromNodeRequest(request.raw, reply.raw, undefined, undefined))
  await universalResponseToNodeResponse(response, reply.raw)
}
