// REST as a Connect transport: the generated clients over the contract's paths, with only fetch.
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromJson,
  type JsonValue,
  type MessageInitShape,
} from "@bufbuild/protobuf"
import { Code, ConnectError, type UnaryResponse } from "@connectrpc/connect"
import type { Wire } from "./ports.ts"
import { restFailure } from "./rest-failure.ts"
import { restRequest } from "./rest-request.ts"

export const rest: Wire = ({ baseUrl, fetch = globalThis.fetch }) => ({
  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: MessageInitShape<I>,
  ): Promise<UnaryResponse<I, O>> {
    const { verb, target, contentType, body } = restRequest(method, create(method.input, input))
    const headers = new Headers(header)
    const limitMs = timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : undefined
    if (contentType !== undefined) headers.set("content-type", contentType)
    if (limitMs !== undefined) headers.set("connect-timeout-ms", String(Math.ceil(limitMs)))
    const deadline = limitMs === undefined ? undefined : AbortSignal.timeout(limitMs)
    const ends = [signal, deadline].filter((each) => each !== undefined)
    try {
      const response = await fetch(`${baseUrl}${target}`, {
        method: verb,
        headers,
        redirect: "error",
        ...(body !== undefined && { body }),
        ...(ends.length > 0 && { signal: AbortSignal.any(ends) }),
      })
      const json = response.status === 204 ? {} : parseJson(await response.text())
      if (!response.ok) throw restFailure(response, json)
      if (json === undefined) throw new ConnectError("the answer is not JSON", Code.Internal, response.headers)
      return {
        stream: false,
        service: method.parent,
        method,
        header: response.headers,
        trailer: new Headers(),
        message: fromJson(method.output, json, { ignoreUnknownFields: true }),
      }
    } catch (error) {
      if (error instanceof ConnectError) throw error
      if (signal?.aborted) throw new ConnectError("the call was canceled", Code.Canceled, undefined, undefined, error)
      if (deadline?.aborted) {
        throw new ConnectError("the deadline has passed", Code.DeadlineExceeded, undefined, undefined, error)
      }
      throw new ConnectError("no answer", Code.Unavailable, undefined, undefined, error)
    }
  },
  stream: () => Promise.reject(new ConnectError("streaming is not supported over REST", Code.Unimplemented)),
})

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
