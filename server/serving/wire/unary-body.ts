// The message of a unary or server-streaming call, as each protocol frames it. Checked before Connect reads it, as
// strictly as over REST and with the same reasons.
import type { DescMethod, Message } from "@bufbuild/protobuf"
import { base64Decode } from "@bufbuild/protobuf/wire"
import { Refused } from "@signet/kernel/errors"
import { messageFromBinary, messageFromJson } from "./read-message.ts"
import { parseStrictJson, shown } from "./strict-json.ts"

/** The framing of a body, by its content type. */
export interface Framing {
  readonly protocol: "connect" | "connect-stream" | "grpc" | "grpc-web"
  readonly isJson: boolean
  /** True if a five-byte prefix of flags and length precedes the message. */
  readonly isEnveloped: boolean
}

export const envelopeBytes = 5

/** @returns Undefined for an unknown content type. */
export function framingOf(contentType: string): Framing | undefined {
  const type = contentType.toLowerCase().split(";")[0]?.trim() ?? ""
  const plain = /^application\/(json|proto)$/.exec(type)
  if (plain) return { protocol: "connect", isJson: plain[1] === "json", isEnveloped: false }
  const enveloped = /^application\/(connect|grpc|grpc-web)(?:\+(json|proto))?$/.exec(type)
  if (!enveloped) return undefined
  const isJson = enveloped[2] === "json"
  switch (enveloped[1]) {
    case "grpc":
    case "grpc-web":
      return { protocol: enveloped[1], isJson, isEnveloped: true }
    default:
      // The content type of a Connect stream always names the codec.
      return enveloped[2] === undefined ? undefined : { protocol: "connect-stream", isJson, isEnveloped: true }
  }
}

/** @throws Refused for compressed messages, which are not supported (zip bombs, BREACH). */
export function refuseCompression(header: (name: string) => string | undefined): void {
  for (const name of ["content-encoding", "connect-content-encoding", "grpc-encoding"]) {
    const encoding = header(name)
    if (encoding !== undefined && encoding !== "identity") {
      throw new Refused("UNSUPPORTED_MEDIA_TYPE", { message: "compressed messages are not supported" })
    }
  }
}

/** @throws Refused unless the body is exactly one readable message. */
export function readBodyMessage({ input }: DescMethod, framing: Framing, body: Uint8Array): Message {
  const message = framing.isEnveloped ? withoutEnvelope(body) : body
  return framing.isJson ? messageFromJson(input, parseStrictJson(message)) : messageFromBinary(input, message)
}

function withoutEnvelope(body: Uint8Array): Uint8Array {
  if (body.length < envelopeBytes || body[0] !== 0) throw badFrame()
  const length = new DataView(body.buffer, body.byteOffset, body.byteLength).getUint32(1)
  if (length !== body.length - envelopeBytes) throw badFrame()
  return body.subarray(envelopeBytes)
}

const badFrame = () => new Refused("MALFORMED_REQUEST", { message: "the body is not one message with a frame header" })

const queryParameters = new Set(["connect", "encoding", "message", "base64", "compression"])

/**
 * Checks a Connect GET, whose message is in the URL.
 *
 * @see https://connectrpc.com/docs/protocol#unary-get-request
 * @throws Refused
 */
export function checkQuery({ input }: DescMethod, query: URLSearchParams, maxBytes: number): void {
  const bytes = queryBytes(query, maxBytes)
  if (query.get("encoding") === "json") messageFromJson(input, parseStrictJson(bytes))
  else if (query.get("encoding") === "proto") messageFromBinary(input, bytes)
  else throw new Refused("UNSUPPORTED_MEDIA_TYPE")
}

/** The undecoded message of a Connect GET. @throws Refused for unknown or duplicate parameters. */
export function queryBytes(query: URLSearchParams, maxBytes: number): Uint8Array {
  const seen = new Set<string>()
  for (const name of query.keys()) {
    if (!queryParameters.has(name)) throw new Refused("UNKNOWN_FIELD", { metadata: { field: shown(name) } })
    if (seen.has(name)) throw new Refused("DUPLICATE_FIELD", { metadata: { field: name } })
    seen.add(name)
  }
  if ((query.get("compression") ?? "identity") !== "identity") throw new Refused("UNSUPPORTED_MEDIA_TYPE")
  const bytes = queryMessage(query)
  if (bytes.length > maxBytes) throw new Refused("BODY_TOO_LARGE")
  return bytes
}

function queryMessage(query: URLSearchParams): Uint8Array {
  const text = query.get("message") ?? ""
  if (query.get("base64") !== "1") return new TextEncoder().encode(text)
  try {
    return base64Decode(text)
  } catch {
    throw new Refused("MALFORMED_REQUEST", { message: "message is not base64" })
  }
}
