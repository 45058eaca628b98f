// Refusals of calls that belong to no method, in the words of the protocol that the caller speaks.
import type { MethodImpl } from "@connectrpc/connect"
import { createConnectRouter } from "@connectrpc/connect"
import { errorToJsonBytes } from "@connectrpc/connect/protocol-connect"
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node"
import type { Refused } from "@signet/kernel/errors"
import { Health } from "@signet/proto/grpc/health/v1/health"
import type { FastifyReply, FastifyRequest } from "fastify"
import { refusal } from "../rest/rest.ts"
import { refusalError } from "../rpc/errors.ts"
import { framingOf } from "../rpc/wire/unary-body.ts"
import { sendResponse } from "./rest-plugin.ts"

/** Answers with a refusal: a problem to REST, an error to Connect, a status to gRPC and gRPC-Web. */
export async function refuseCall(refused: Refused, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const type = request.headers["content-type"] ?? ""
  if (request.method === "POST" && framingOf(type)?.isEnveloped) return refuseEnveloped(refused, request, reply)
  if (isRpcPath(request.url)) {
    const error = refusalError(refused)
    for (const [name, value] of error.metadata) reply.header(name, value)
    reply.code(refused.status).header("content-type", "application/json").header("cache-control", "no-store")
    reply.send(Buffer.from(errorToJsonBytes(error, undefined)))
    return
  }
  sendResponse(reply, refusal(refused, request.id))
}

/** `/package.Service/Method`: what no REST path looks like. */
const isRpcPath = (url: string): boolean => /^\/[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)+\/[A-Za-z0-9_]+(\?|$)/.test(url)

/** A gRPC status needs Connect's serializers, so a method that always refuses stands in for the one that is not there. */
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
  request.raw.resume()
  const response = await handler(universalRequestFromNodeRequest(request.raw, reply.raw, undefined, undefined))
  await universalResponseToNodeResponse(response, reply.raw)
}
