// Refusals of calls to unknown methods, in the protocol of the caller.
import { errorToJson } from "@connectrpc/connect/protocol-connect"
import type { Refused } from "@signet/kernel/errors"
import { refusalError } from "../errors.ts"
import { type Framing, framingOf } from "../wire/unary-body.ts"
import type { RestResponse } from "./http.ts"
import { refusal } from "./rest.ts"

interface RefusedRequest {
  /** The request's id. */
  readonly id: string
  readonly verb: string
  /** Without the query. */
  readonly path: string
  readonly contentType: string
}

/** The framing of a refusal over gRPC, gRPC-Web or Connect streams; undefined for other calls. */
export function envelopeOf({ verb, contentType }: Pick<RefusedRequest, "verb" | "contentType">): Framing | undefined {
  const framing = verb === "POST" ? framingOf(contentType) : undefined
  return framing?.isEnveloped ? framing : undefined
}

/** A problem for REST, an error for Connect. */
export function refuseCall(refused: Refused, { id, path }: RefusedRequest): RestResponse {
  if (!isRpcPath(path)) return refusal(refused, id)
  const error = refusalError(refused)
  const headers = new Headers(error.metadata)
  headers.set("content-type", "application/json")
  headers.set("cache-control", "no-store")
  return { status: refused.status, headers, body: JSON.stringify(errorToJson(error, undefined)) }
}

/** `/package.Service/Method`, which matches no REST path. */
const isRpcPath = (path: string): boolean => /^\/[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)+\/[A-Za-z0-9_]+$/.test(path)
