import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node"
import type { Refused } from "@signet/kernel/errors"
import type { FastifyReply, FastifyRequest } from "fastify"
import { refuseCall as refusalOf } from "../rest/refuse-call.ts"
import { sendResponse } from "./rest-plugin.ts"

/** Answers with a refusal: a problem to REST, an error to Connect, a status to gRPC and gRPC-Web. */
export async function refuseCall(refused: Refused, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const [path = ""] = request.url.split("?")
  const contentType = request.headers["content-type"] ?? ""
  const answer = refusalOf(refused, { id: request.id, verb: request.method, path, contentType })
  if (typeof answer !== "function") return void sendResponse(reply, answer)
  reply.hijack()
  request.raw.resume()
  const response = await answer(universalRequestFromNodeRequest(request.raw, reply.raw, undefined, undefined))
  await universalResponseToNodeResponse(response, reply.raw)
}
