// Refusals of calls that belong to no method, in the words of the protocol that the caller speaks.
import { errorToJson } from "@connectrpc/connect/protocol-connect"
import type { Refused } from "@signet/kernel/errors"
import { refusalError } from "../errors.ts"
import { type Framing, framingOf } from "../wire/unary-body.ts"
import type { RestResponse } from "./http.ts"
import { refusal } from "./rest.ts"

export interface RefusedRequest {
  /** The request's id. */
  readonly id: string
  readonly verb: string
  /** Without the query. */
  readonly path: string
  readonly contentType: string
}

/** The framing that a refusal has to be in: of gRPC, gRPC-Web and Connect's streams. */
export function envelopeOf({ verb, contentType }: Pick<RefusedRequest, "verb" | "contentType">): Framing | undefined {
  const framing = verb === "POST" ? framingOf(contentType) : undefined
  return framing?.isEnveloped ? framing : undefined
}

/** A problem to REST, an error to Connect. */
export function refuseCall(refused: Refused, { id, path }: RefusedRequest): RestResponse {
  if (!isRpcPath(path)) return refusal(refused, id)
  const error = refusalError(refused)
  const headers = new Headers(error.metadata)
  headers.set("content-type", "application/json")
  headers.set("cache-control", "no-store")
  return { status: refused.status, headers, body: JSON.stringify(errorToJson(error, undefined)) }
}

/** `/package.Service/Method`: what no REST path looks like. */
const isRpcPath = (path: string): boolean => /^\/[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)+\/[A-Za-z0-9_]+$/.test(path)
