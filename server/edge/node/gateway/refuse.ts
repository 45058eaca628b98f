// The gateway's own refusals, in the protocol of the caller.
import { randomUUID } from "node:crypto"
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http"
import type { ConnectError } from "@connectrpc/connect"
import {
  codeToHttpStatus,
  endStreamFlag,
  endStreamToJson,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect"
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc"
import { problemOf } from "../../../serving/rest/problem.ts"
import { framingOf } from "../../../serving/wire/unary-body.ts"
import { framed } from "./frames.ts"

/** Sends a problem for REST, an error for Connect, a status for gRPC-Web. Aborts a response that has begun. */
export function refuse(error: ConnectError, request: IncomingMessage, response: ServerResponse): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const metadata: OutgoingHttpHeaders = { ...Object.fromEntries(error.metadata), "cache-control": "no-store" }
  const framing = framingOf(request.headers["content-type"] ?? "")
  const answer = (status: number, type: string, body: string | Uint8Array) =>
    response.writeHead(status, { ...metadata, "content-type": type }).end(body)
  if (framing?.protocol === "grpc-web") {
    Object.assign(metadata, Object.fromEntries(setTrailerStatus(new Headers(), error)))
    answer(200, `application/grpc-web+${framing.isJson ? "json" : "proto"}`, "")
  } else if (framing?.protocol === "connect-stream") {
    const end = Buffer.from(JSON.stringify(endStreamToJson(new Headers(), error, undefined)))
    answer(200, `application/connect+${framing.isJson ? "json" : "proto"}`, framed(end, endStreamFlag))
  } else if (isRpcPath(request.url ?? "")) {
    answer(codeToHttpStatus(error.code), "application/json", errorToJsonBytes(error, undefined))
  } else {
    const problem = problemOf(error, randomUUID())
    answer(problem.status, "application/problem+json", JSON.stringify(problem))
  }
}

/** `/package.Service/Method`, which matches no REST path. */
const isRpcPath = (url: string): boolean => /^\/[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)+\/[A-Za-z0-9_]+(\?|$)/.test(url)
