// Refusals of calls that belong to no method, in the words of the protocol that the caller speaks.
import { createConnectRouter, type MethodImpl } from "@connectrpc/connect"
import type { UniversalHandler } from "@connectrpc/connect/protocol"
import { errorToJson } from "@connectrpc/connect/protocol-connect"
import type { Refused } from "@signet/kernel/errors"
import { Health } from "@signet/proto/grpc/health/v1/health"
import { refusalError } from "../rpc/errors.ts"
import { framingOf } from "../rpc/wire/unary-body.ts"
import { type RestResponse, refusal } from "./rest.ts"

export interface RefusedRequest {
  /** The request's id. */
  readonly id: string
  readonly verb: string
  /** Without the query. */
  readonly path: string
  readonly contentType: string
}

/** A problem to REST, an error to Connect; to gRPC, gRPC-Web and Connect's streams what the handler answers. */
export function refuseCall(refused: Refused, request: RefusedRequest): RestResponse | UniversalHandler {
  if (request.verb === "POST" && framingOf(request.contentType)?.isEnveloped) return refusing(refused)
  if (!isRpcPath(request.path)) return refusal(refused, request.id)
  const error = refusalError(refused)
  const headers = new Headers(error.metadata)
  headers.set("content-type", "application/json")
  headers.set("cache-control", "no-store")
  return { status: refused.status, headers, body: JSON.stringify(errorToJson(error, undefined)) }
}

/** `/package.Service/Method`: what no REST path looks like. */
const isRpcPath = (path: string): boolean => /^\/[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)+\/[A-Za-z0-9_]+$/.test(path)

/** A gRPC status needs Connect's serializers, so a method that always refuses stands in for the one that is not there. */
function refusing(refused: Refused): UniversalHandler {
  const never: MethodImpl<typeof Health.method.watch> = () => {
    throw refusalError(refused)
  }
  const router = createConnectRouter({
    requestGate() {
      throw refusalError(refused)
    },
  }).rpc(Health.method.watch, never)
  const [handler] = router.handlers
  if (handler === undefined) throw new Error("the router made no handler")
  return handler
}
