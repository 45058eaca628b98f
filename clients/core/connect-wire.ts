// The Connect protocol over fetch, binary only: without the JSON codec, which would be a fifth of a page's client.
// Connect's own browser transport, built from the same parts, speaks both.
import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf"
import { Code, ConnectError, createContextValues, type StreamResponse, type UnaryResponse } from "@connectrpc/connect"
import {
  createEnvelopeReadableStream,
  createMethodUrl,
  encodeEnvelope,
  runStreamingCall,
  runUnaryCall,
} from "@connectrpc/connect/protocol"
import {
  endStreamFlag,
  endStreamFromJson,
  errorFromJson,
  requestHeader,
  trailerDemux,
  validateResponse,
} from "@connectrpc/connect/protocol-connect"
import type { Wire } from "./ports.ts"

/** The flag of a compressed message, which the client never requests. */
const compressedFlag = 1

export const connect: Wire = ({ baseUrl, fetch = globalThis.fetch }) => ({
  unary: (method, signal, timeoutMs, header, message, contextValues) =>
    runUnaryCall({
      ...(signal && { signal }),
      timeoutMs: above(timeoutMs),
      req: {
        stream: false,
        service: method.parent,
        method,
        requestMethod: "POST",
        url: createMethodUrl(baseUrl, method),
        header: requestHeader(method.methodKind, true, above(timeoutMs), header, false),
        contextValues: contextValues ?? createContextValues(),
        message,
      },
      async next(request): Promise<UnaryResponse<typeof method.input, typeof method.output>> {
        const body = toBinary(method.input, request.message)
        const response = await fetch(request.url, init(request, body))
        const { isUnaryError, unaryError } = validateResponse(
          method.methodKind,
          true,
          response.status,
          response.headers,
        )
        const [headers, trailer] = trailerDemux(response.headers)
        if (isUnaryError) throw errorFromJson(await response.json(), both(headers, trailer), unaryError)
        const bytes = new Uint8Array(await response.arrayBuffer())
        const read = fromBinary(method.output, bytes)
        return { stream: false, service: method.parent, method, header: headers, message: read, trailer }
      },
    }),

  stream: (method, signal, timeoutMs, header, input, contextValues) =>
    runStreamingCall({
      ...(signal && { signal }),
      timeoutMs: above(timeoutMs),
      req: {
        stream: true,
        service: method.parent,
        method,
        requestMethod: "POST",
        url: createMethodUrl(baseUrl, method),
        header: requestHeader(method.methodKind, true, above(timeoutMs), header, false),
        contextValues: contextValues ?? createContextValues(),
        message: input,
      },
      async next(request): Promise<StreamResponse<typeof method.input, typeof method.output>> {
        if (method.methodKind !== "server_streaming") {
          throw new ConnectError("client streaming is not supported over fetch", Code.Unimplemented)
        }
        const first = await request.message[Symbol.asyncIterator]().next()
        if (first.done) throw new ConnectError("the request has no message", Code.InvalidArgument)
        const body = encodeEnvelope(0, toBinary(method.input, first.value))
        const response = await fetch(request.url, init(request, body))
        validateResponse(method.methodKind, true, response.status, response.headers)
        if (response.body === null) throw new ConnectError("the answer has no body", Code.Internal)
        const trailer = new Headers()
        const message = readMessages(
          method.output,
          response.body,
          { header: response.headers, trailer },
          request.signal,
        )
        return { ...request, header: response.headers, trailer, message }
      },
    }),
})

/** As everywhere in Connect, a timeout of zero or less means none. */
const above = (timeoutMs: number | undefined) => (timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : undefined)

const init = (
  request: { requestMethod: string; header: Headers; signal: AbortSignal },
  body: Uint8Array<ArrayBufferLike>,
): RequestInit => ({
  method: request.requestMethod,
  headers: request.header,
  signal: request.signal,
  redirect: "error",
  body: new Uint8Array(body),
})

async function* readMessages<O extends DescMessage>(
  output: O,
  body: ReadableStream<Uint8Array>,
  { header, trailer }: { header: Headers; trailer: Headers },
  signal: AbortSignal,
): AsyncIterable<MessageShape<O>> {
  const reader = createEnvelopeReadableStream(body).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      signal.throwIfAborted()
      if (done) throw new ConnectError("the stream ended before its end message", Code.Unavailable)
      if ((value.flags & compressedFlag) !== 0)
        throw new ConnectError("the response is compressed, which was not requested", Code.Internal)
      if ((value.flags & endStreamFlag) === 0) {
        yield fromBinary(output, value.data)
        continue
      }
      const { metadata, error } = endStreamFromJson(value.data)
      if (error !== undefined) {
        header.forEach((text, name) => {
          error.metadata.append(name, text)
        })
        throw error
      }
      metadata.forEach((text, name) => {
        trailer.set(name, text)
      })
      return
    }
  } finally {
    // A reader that stops closes the connection.
    await reader.cancel().catch(() => undefined)
  }
}

function both(header: Headers, trailer: Headers): Headers {
  const all = new Headers(header)
  trailer.forEach((text, name) => {
    all.append(name, text)
  })
  return all
}
