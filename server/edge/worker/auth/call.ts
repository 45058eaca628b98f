// Calls the auth service: Connect, unary and binary, with this backend's own token.
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { errorFromJson } from "@connectrpc/connect/protocol-connect"
import { StatusError } from "@signet/guard/fetch-text"
import { type ServiceToken, withToken } from "@signet/guard/service-token"
import { type Reason, Refused, refusals } from "@signet/kernel/errors"
import { errorInfo } from "../../../serving/errors.ts"

/** @throws Refused the auth service's refusal; UNAVAILABLE without an answer, or if it rejects this backend. */
export type CallAuth = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
) => Promise<MessageShape<O>>

const timeoutMs = 10_000
const maxBytes = 1_048_576

export function createCallAuth(of: { url: string; token: ServiceToken; fetch: typeof fetch }): CallAuth {
  return async (method, request) => {
    const url = `${of.url}/${method.parent.typeName}/${method.name}`
    const body = toBinary(method.input, create(method.input, request))
    try {
      const bytes = await withToken(of.token, (token) => post(of.fetch, url, token, body))
      return fromBinary(method.output, bytes)
    } catch (error) {
      throw refusedFor(error)
    }
  }
}

/** @throws StatusError 401 for a rejected token; ConnectError for other refusals. */
async function post(fetcher: typeof fetch, url: string, token: string, body: Uint8Array): Promise<Uint8Array> {
  const response = await fetcher(url, {
    method: "POST",
    headers: {
      "content-type": "application/proto",
      "connect-protocol-version": "1",
      "connect-timeout-ms": String(timeoutMs),
      authorization: `Bearer ${token}`,
    },
    // A copy: a view of a larger buffer would send all of it.
    body: body.slice(),
    // "manual", because Workers do not support "error".
    redirect: "manual",
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (response.status === 200) {
    const bytes = new Uint8Array(await response.arrayBuffer())
    if (bytes.length > maxBytes) throw new Error("the response exceeds the size limit")
    return bytes
  }
  if (response.status === 401) {
    await response.body?.cancel()
    throw new StatusError(401)
  }
  const status = new ConnectError(`status ${response.status}`, Code.Unavailable)
  throw errorFromJson(await response.json(), undefined, status)
}

/** The refusal for this backend's own caller. */
function refusedFor(error: unknown): Refused {
  const info = error instanceof ConnectError ? errorInfo(error) : undefined
  const { reason = "", metadata = {} } = info ?? {}
  if (reason === "CALLER_REFUSED" && isReason(metadata.caller_reason)) {
    return new Refused(metadata.caller_reason, { cause: error })
  }
  if (isForwarded(reason)) return new Refused(reason, { metadata, cause: error })
  // A fault of the backend itself is not forwarded: the caller did not make that request.
  return new Refused(isReason(reason) && ours.has(reason) ? "INTERNAL" : "UNAVAILABLE", { cause: error })
}

const isReason = (text: string | undefined): text is Reason => text !== undefined && Object.hasOwn(refusals, text)
const isForwarded = (text: string): text is "CREDENTIAL_INVALID" | "NOT_FOUND" | "RATE_LIMITED" =>
  text === "CREDENTIAL_INVALID" || text === "NOT_FOUND" || text === "RATE_LIMITED"
const ours: ReadonlySet<Reason> = new Set<Reason>(["INVALID_FIELD", "NOT_THE_CALLERS", "MALFORMED_REQUEST"])
