// The Connect protocol over HTTP effects, binary only: unary calls and server streams.
import { create, type DescMessage, fromBinary, isMessage, type MessageShape, toBinary } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { encodeEnvelope } from "@connectrpc/connect/protocol"
import {
  endStreamFlag,
  endStreamFromJson,
  errorFromJson,
  requestHeader,
  trailerDemux,
  validateResponse,
} from "@connectrpc/connect/protocol-connect"
import type { Wire } from "@signet/client"
import type { HttpRequest } from "@signet/proto/host/v1/host"
import { perform } from "./effects.ts"
import { HostError } from "./host.ts"
import { pieces } from "./pieces.ts"

type Method = Parameters<ReturnType<Wire>["unary"]>[0] | Parameters<ReturnType<Wire>["stream"]>[0]

const compressedFlag = 1
const headBytes = 5
/** The longest message of a stream: an envelope of the log is far shorter. */
const longestBytes = 16 * 1024 * 1024

export const hostWire: Wire = ({ baseUrl }) => ({
  async unary(method, signal, timeoutMs, header, input) {
    const message = isMessage(input, method.input) ? input : create(method.input, input)
    const value = request(baseUrl, method, timeoutMs, header, toBinary(method.input, message))
    const { status, headers, body } = await perform({ case: "http", value }, "http", { signal }).catch(throwConnect)
    const head = headersOf(headers)
    const { isUnaryError, unaryError } = validateResponse(method.methodKind, true, status, head)
    const [leading, trailer] = trailerDemux(head)
    if (isUnaryError) throw errorFromJson(parseJson(body, unaryError), head, unaryError)
    const answer = decode(method.output, body)
    return { stream: false, service: method.parent, method, header: leading, message: answer, trailer }
  },

  async stream(method, signal, timeoutMs, header, input) {
    if (method.methodKind !== "server_streaming") {
      throw new ConnectError("only server streams are supported here", Code.Unimplemented)
    }
    const first = await input[Symbol.asyncIterator]().next()
    if (first.done) throw new ConnectError("the request has no message", Code.InvalidArgument)
    const message = create(method.input, first.value)
    const body = encodeEnvelope(0, toBinary(method.input, message))
    const value = { ...request(baseUrl, method, timeoutMs, header, body), isStream: true }
    const arriving = pieces(value, signal)
    const { status, headers } = await arriving.head.catch(throwConnect)
    const head = headersOf(headers)
    validateResponse(method.methodKind, true, status, head)
    const trailer = new Headers()
    const messages = readMessages(method.output, arriving.body(), { header: head, trailer })
    return { stream: true, service: method.parent, method, header: head, trailer, message: messages }
  },
})

/** As everywhere in Connect, a time limit of zero or less is none. */
function request(
  baseUrl: string,
  method: Method,
  timeoutMs: number | undefined,
  given: HeadersInit | undefined,
  body: Uint8Array<ArrayBufferLike>,
): Pick<HttpRequest, "method" | "url" | "body" | "timeoutMs"> & { headers: { name: string; value: string }[] } {
  const limitMs = timeoutMs !== undefined && timeoutMs > 0 ? Math.ceil(timeoutMs) : undefined
  const headers: { name: string; value: string }[] = []
  requestHeader(method.methodKind, true, limitMs, given, false).forEach((value, name) => {
    // A fetch sets its own; Connect asks for it because of proxies that log it.
    if (name !== "user-agent") headers.push({ name, value })
  })
  const url = `${baseUrl}/${method.parent.typeName}/${method.name}`
  return { method: "POST", url, headers, body: new Uint8Array(body), timeoutMs: limitMs ?? 0 }
}

const headersOf = (headers: readonly { name: string; value: string }[]): Headers =>
  new Headers(headers.map(({ name, value }): [string, string] => [name, value]))

function decode<O extends DescMessage>(output: O, body: Uint8Array): MessageShape<O> {
  try {
    return fromBinary(output, body)
  } catch {
    throw new ConnectError("the answer does not decode", Code.Internal)
  }
}

function parseJson(body: Uint8Array, fallback: ConnectError) {
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    throw fallback
  }
}

/** Without an answer of the service the call may have had its effect. */
function throwConnect(error: unknown): never {
  if (!(error instanceof HostError)) {
    throw new ConnectError("the call was canceled", Code.Canceled, undefined, undefined, error)
  }
  const code = error.reason === "TIMED_OUT" ? Code.DeadlineExceeded : Code.Unavailable
  throw new ConnectError("the service did not answer", code, undefined, undefined, error)
}

async function* readMessages<O extends DescMessage>(
  output: O,
  body: AsyncGenerator<Uint8Array>,
  { header, trailer }: { header: Headers; trailer: Headers },
): AsyncGenerator<MessageShape<O>> {
  for await (const { flags, data } of envelopesOf(body)) {
    if ((flags & compressedFlag) !== 0) {
      throw new ConnectError("the response is compressed, which was not requested", Code.Internal)
    }
    if ((flags & endStreamFlag) === 0) {
      yield decode(output, data)
      continue
    }
    const { metadata, error } = endStreamFromJson(data)
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
  throw new ConnectError("the stream ended before its end message", Code.Unavailable)
}

/** Splits a body into Connect's envelopes: flags, a length of 4 bytes, data. */
async function* envelopesOf(body: AsyncGenerator<Uint8Array>): AsyncGenerator<{ flags: number; data: Uint8Array }> {
  let left = new Uint8Array()
  try {
    for await (const piece of body) {
      const joined = new Uint8Array(left.length + piece.length)
      joined.set(left)
      joined.set(piece, left.length)
      left = joined
      while (left.length >= headBytes) {
        const length = new DataView(left.buffer, left.byteOffset).getUint32(1)
        if (length > longestBytes) throw new ConnectError("a message of the stream is too long", Code.ResourceExhausted)
        if (left.length < headBytes + length) break
        yield { flags: left[0] ?? 0, data: left.slice(headBytes, headBytes + length) }
        left = left.slice(headBytes + length)
      }
    }
  } catch (error) {
    if (error instanceof ConnectError) throw error
    throwConnect(error)
  }
}
