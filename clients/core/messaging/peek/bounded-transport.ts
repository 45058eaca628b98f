// The transport of a read-ahead: Connect over `fetch`, for a service that may be hostile. An answer has a maximum size, and
// its fields are counted before they are decoded: two bytes of an answer can become an object of a kilobyte.
import { create, type DescMessage, fromBinary, ScalarType, toBinary } from "@bufbuild/protobuf"
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"

interface AnswerLimits {
  /** Bytes of a page of envelopes. The service returns at most 4 MiB of envelopes. */
  readonly envelopePageBytes: number
  /** Bytes of any other answer. */
  readonly answerBytes: number
  /** Fields of an answer, with those of nested messages. */
  readonly answerFields: number
}

const answerLimits: AnswerLimits = {
  envelopePageBytes: 4_259_840,
  answerBytes: 524_288,
  answerFields: 10_000,
}

/** The part of `fetch` that a bounded transport needs. */
export type Send = (url: string, init: SendInit) => Promise<Answer>

interface SendInit {
  readonly method: "POST"
  readonly headers: Headers
  readonly body: Uint8Array<ArrayBuffer>
  readonly credentials: "omit"
  readonly redirect: "error"
  readonly signal: AbortSignal
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Body | null
}

interface Body {
  getReader(): {
    read(): Promise<{ readonly done?: boolean; readonly value: Uint8Array | undefined }>
    cancel(): Promise<void>
  }
  cancel(): Promise<void>
}

/**
 * Calls the service at `baseUrl` within limits. It follows no redirect, sends no cookies, and has no streams.
 *
 * @param send `fetch`, with its global as `this`.
 */
export function boundedTransport(baseUrl: string, send: Send, limits: AnswerLimits = answerLimits): Transport {
  return {
    async unary(method, signal, timeoutMs, header, input) {
      const headers = new Headers(header)
      headers.set("content-type", "application/proto")
      headers.set("connect-protocol-version", "1")
      const ends = [signal, timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)]
      const response = await send(`${baseUrl.replace(/\/$/, "")}/${method.parent.typeName}/${method.name}`, {
        method: "POST",
        headers,
        body: new Uint8Array(toBinary(method.input, create(method.input, input))),
        credentials: "omit",
        redirect: "error",
        signal: AbortSignal.any(ends.filter((one) => one !== undefined)),
      })
      const isPage = method.name === ConversationService.method.listMessages.name
      const bytes = await read(response, isPage ? limits.envelopePageBytes : limits.answerBytes)
      if (countFields(method.output, bytes, limits.answerFields) > limits.answerFields) throw tooLarge()
      const message = fromBinary(method.output, bytes)
      return {
        stream: false,
        service: method.parent,
        method,
        header: response.headers,
        message,
        trailer: new Headers(),
      }
    },
    stream: () => Promise.reject(new TypeError("a bounded transport has no streams")),
  }
}

const tooLarge = (): ConnectError => new ConnectError("the answer exceeds the size limit", Code.ResourceExhausted)

/** @throws ConnectError for a refusal, whose text is not read, and above `most` bytes. */
async function read({ status, body }: Answer, most: number): Promise<Uint8Array> {
  if (body === null) return new Uint8Array()
  if (status !== 200) {
    await body.cancel()
    throw new ConnectError("the service refused the call", Code.Unknown)
  }
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done || value === undefined) break
    length += value.length
    if (length > most) {
      await reader.cancel()
      throw tooLarge()
    }
    chunks.push(value)
  }
  const whole = new Uint8Array(length)
  for (let at = 0, chunk = chunks.shift(); chunk !== undefined; at += chunk.length, chunk = chunks.shift())
    whole.set(chunk, at)
  return whole
}

/** Bytes of a text. Each takes two bytes of memory, and no text of the service is so long. */
const longestText = 8_192

/**
 * Counts the fields of an encoded message and of its nested messages, and stops above `most`. Each number of a packed list
 * counts as its bytes. A text that is too long counts as too many.
 *
 * @throws Error for malformed bytes.
 */
export function countFields(desc: DescMessage, bytes: Uint8Array, most: number): number {
  const reader = new BinaryReader(bytes)
  let count = 0
  while (reader.pos < reader.len && count <= most) {
    const [number, wireType] = reader.tag()
    count += 1
    const field = desc.fields.find((one) => one.number === number)
    if (wireType !== WireType.LengthDelimited || field === undefined) {
      reader.skip(wireType, number)
      continue
    }
    const value = reader.bytes()
    if (field.scalar === ScalarType.STRING && value.length > longestText) return most + 1
    if (field.message !== undefined) count += countFields(field.message, value, most - count)
    else if (field.fieldKind === "list" && field.packed) count += value.length
  }
  return count
}
