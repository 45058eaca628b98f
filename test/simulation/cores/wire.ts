// The service behind a core's HTTP effects: the Connect protocol over a transport.
import {
  create,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { encodeEnvelope } from "@connectrpc/connect/protocol"
import {
  codeToHttpStatus,
  endStreamFlag,
  endStreamToJson,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect"
import {
  EffectFailure_Kind,
  type EffectResult,
  EffectResultSchema,
  HeaderSchema,
  type HttpRequest,
} from "@signet/proto/host/v1/host"
import { ArchiveService } from "@signet/proto/messaging/v1/archive_service"
import { AttachmentService } from "@signet/proto/messaging/v1/attachment_service"
import { BlockService } from "@signet/proto/messaging/v1/block_service"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { KeyPackageService } from "@signet/proto/messaging/v1/key_package_service"
import { WelcomeService } from "@signet/proto/messaging/v1/welcome_service"
import type { Performing } from "../../../clients/native/wasm/platform.ts"
import { baseUrl } from "./core.ts"

type Result = EffectResult["result"]

const services = [
  ArchiveService,
  AttachmentService,
  BlockService,
  ConversationService,
  DeviceService,
  KeyPackageService,
  WelcomeService,
]
const methods = new Map<string, DescMethod>(
  services.flatMap((service) =>
    service.methods.map((method) => [`${baseUrl}/${service.typeName}/${method.name}`, method] as const),
  ),
)
const isUnary = (method: DescMethod | undefined): method is DescMethodUnary => method?.methodKind === "unary"
const isStreaming = (method: DescMethod | undefined): method is DescMethodServerStreaming =>
  method?.methodKind === "server_streaming"

/** Headers of the protocol, which each side makes itself. */
const ofProtocol = /^(content-.*|connect-.*|user-agent)$/

const headersOf = ({ headers }: HttpRequest): Headers =>
  new Headers(headers.flatMap(({ name, value }) => (ofProtocol.test(name) ? [] : [[name, value]])))

/** Sends a request of a core. Without an answer of the service, the result is a failure. */
export async function answerHttp(transport: Transport, request: HttpRequest): Promise<Result> {
  const method = methods.get(request.url)
  if (!isUnary(method)) throw new Error(`the service has no unary ${request.url}`)
  const { timeoutMs, body } = request
  try {
    const input = fromBinary(method.input, body)
    const { message } = await transport.unary(method, undefined, timeoutMs || undefined, headersOf(request), input)
    return http(200, "application/proto", toBinary(method.output, create(method.output, message)))
  } catch (error) {
    return failureResult(ConnectError.from(error))
  }
}

/** Opens a stream of a core. @param push Gives the head of the answer, and then each piece of its body. */
export async function answerStream(
  transport: Transport,
  request: HttpRequest,
  signal: AbortSignal,
  push: Performing["push"],
): Promise<Result> {
  const method = methods.get(request.url)
  if (!isStreaming(method)) throw new Error(`the service has no stream ${request.url}`)
  const head = {
    status: 200,
    headers: [create(HeaderSchema, { name: "content-type", value: "application/connect+proto" })],
  }
  const pushed = (flags: number, data: Uint8Array) =>
    push({ status: 0, headers: [], body: encodeEnvelope(flags, new Uint8Array(data)) })
  const end = (error?: ConnectError): Result => {
    const last = JSON.stringify(endStreamToJson(new Headers(), error, undefined))
    pushed(endStreamFlag, new TextEncoder().encode(last))
    return result({ case: "http", value: head })
  }
  let isOpen = false
  try {
    const input = one(fromBinary(method.input, messageIn(request.body)))
    const answer = await transport.stream(method, signal, undefined, headersOf(request), input)
    push({ ...head, body: new Uint8Array() })
    isOpen = true
    for await (const message of answer.message) pushed(0, toBinary(method.output, message))
    return end()
  } catch (cause) {
    const error = ConnectError.from(cause)
    return isOpen && !isLost(error) ? end(error) : failureResult(error)
  }
}

/** The request of a server stream is one envelope: flags, a length of 4 bytes, the message. */
const messageIn = (body: Uint8Array): Uint8Array => body.subarray(5)

async function* one<T>(message: T): AsyncGenerator<T> {
  yield message
}

/** Without details it is no answer of the service. */
const isLost = ({ code, details }: ConnectError): boolean => details.length === 0 && lost[code] !== undefined

function failureResult(error: ConnectError): Result {
  const kind = lost[error.code]
  if (isLost(error) && kind !== undefined) return result({ case: "failure", value: { kind } })
  return http(codeToHttpStatus(error.code), "application/json", errorToJsonBytes(error, undefined), error.metadata)
}

const lost: Partial<Record<Code, EffectFailure_Kind>> = {
  [Code.Unavailable]: EffectFailure_Kind.UNREACHABLE,
  [Code.DeadlineExceeded]: EffectFailure_Kind.TIMED_OUT,
}

function http(status: number, type: string, body: Uint8Array, metadata = new Headers()): Result {
  const others = [...metadata].filter(([name]) => !ofProtocol.test(name))
  const headers = [...others, ["content-type", type]].map(([name = "", value = ""]) => ({ name, value }))
  const value = { status, headers, body: new Uint8Array(body) }
  return result({ case: "http", value })
}

const result = (made: NonNullable<MessageInitShape<typeof EffectResultSchema>["result"]>): Result =>
  create(EffectResultSchema, { result: made }).result
