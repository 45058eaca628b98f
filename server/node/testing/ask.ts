// Sends one call manually over each protocol, and returns the reason of its refusal.
import { connect as connectHttp2 } from "node:http2"
import { fromBinary } from "@bufbuild/protobuf"
import { base64Decode } from "@bufbuild/protobuf/wire"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { StatusSchema } from "@signet/proto/google/rpc/status"

export const protocols = [
  "Connect JSON",
  "Connect binary",
  "gRPC",
  "gRPC JSON",
  "gRPC-Web",
  "gRPC-Web JSON",
  "REST",
] as const
export type Protocol = (typeof protocols)[number]

export const isJsonProtocol = (protocol: Protocol): boolean => protocol === "REST" || protocol.endsWith("JSON")

export interface Ask {
  /** Path of the method; REST has another one. */
  rpc: string
  rest: string
  body: Uint8Array
  headers?: Record<string, string>
  /** Replaces the protocol's content type. */
  contentType?: string | undefined
  /** Deadline in milliseconds, sent in the protocol's header. */
  timeoutMs?: number | undefined
  /** Sends the body without framing. */
  unframed?: boolean | undefined
}

export interface Answer {
  /** The HTTP status. */
  status: number
  /** The reason of the ErrorInfo; "" for success, "?" for an error without one. */
  reason: string
  contentType: string
}

export const contentTypes: Record<Protocol, string> = {
  "Connect JSON": "application/json",
  "Connect binary": "application/proto",
  gRPC: "application/grpc",
  "gRPC JSON": "application/grpc+json",
  "gRPC-Web": "application/grpc-web+proto",
  "gRPC-Web JSON": "application/grpc-web+json",
  REST: "application/json",
}

export async function ask(baseUrl: string, protocol: Protocol, of: Ask): Promise<Answer> {
  const isEnveloped = protocol.startsWith("gRPC")
  const body = isEnveloped && !of.unframed ? enveloped(of.body) : of.body
  const headers: Record<string, string> = { "content-type": of.contentType ?? contentTypes[protocol], ...of.headers }
  if (of.timeoutMs !== undefined) {
    if (isEnveloped) headers["grpc-timeout"] = `${of.timeoutMs}m`
    else headers["connect-timeout-ms"] = String(of.timeoutMs)
  }
  if (protocol === "gRPC" || protocol === "gRPC JSON")
    return askHttp2(baseUrl, of.rpc, { ...headers, te: "trailers" }, body)
  const response = await fetch(baseUrl + (protocol === "REST" ? of.rest : of.rpc), {
    method: "POST",
    headers,
    body: body.slice(),
  })
  const bytes = new Uint8Array(await response.arrayBuffer())
  return answerOf(response.status, Object.fromEntries(response.headers), bytes)
}

export function enveloped(message: Uint8Array): Uint8Array {
  const out = new Uint8Array(message.length + 5)
  new DataView(out.buffer).setUint32(1, message.length)
  out.set(message, 5)
  return out
}

function askHttp2(baseUrl: string, path: string, headers: Record<string, string>, body: Uint8Array): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(baseUrl).on("error", reject)
    const stream = session.request({ ":method": "POST", ":path": path, ...headers })
    const seen: Record<string, string> = {}
    const chunks: Buffer[] = []
    const note = (fields: object) => Object.assign(seen, fields)
    stream.on("response", note).on("trailers", note).on("error", reject)
    stream.on("data", (chunk: Buffer) => chunks.push(chunk))
    stream.on("end", () => {
      session.close()
      resolve(answerOf(Number(seen[":status"]), seen, Buffer.concat(chunks)))
    })
    stream.end(body)
  })
}

function answerOf(status: number, headers: Record<string, string>, body: Uint8Array): Answer {
  return { status, reason: reasonIn(headers, body), contentType: headers["content-type"] ?? "" }
}

function reasonIn(headers: Record<string, string>, body: Uint8Array): string {
  const type = headers["content-type"] ?? ""
  if (type === "application/proto") return ""
  if (type.startsWith("application/grpc")) return grpcReason({ ...headers, ...webTrailers(type, body) })
  if (type !== "application/json" && type !== "application/problem+json") return body.length === 0 ? "" : "?"
  const json = JSON.parse(new TextDecoder().decode(body))
  if (typeof json.reason === "string") return json.reason
  if (typeof json.code !== "string") return ""
  for (const detail of json.details ?? []) {
    if (detail.type === ErrorInfoSchema.typeName) return fromBinary(ErrorInfoSchema, base64Decode(detail.value)).reason
  }
  return "?"
}

function grpcReason(fields: Record<string, string>): string {
  if (fields["grpc-status"] === "0") return ""
  const details = fields["grpc-status-details-bin"]
  if (details === undefined) return "?"
  for (const { typeUrl, value } of fromBinary(StatusSchema, base64Decode(details)).details) {
    if (typeUrl.endsWith(ErrorInfoSchema.typeName)) return fromBinary(ErrorInfoSchema, value).reason
  }
  return "?"
}

/** The trailers in the last frame of a gRPC-Web body. */
function webTrailers(type: string, body: Uint8Array): Record<string, string> {
  const out: Record<string, string> = {}
  if (!type.startsWith("application/grpc-web")) return out
  for (let at = 0; at + 5 <= body.length; ) {
    const length = new DataView(body.buffer, body.byteOffset).getUint32(at + 1)
    if (((body[at] ?? 0) & 0x80) !== 0) {
      const text = new TextDecoder().decode(body.subarray(at + 5, at + 5 + length))
      for (const line of text.split("\r\n")) {
        const colon = line.indexOf(":")
        if (colon > 0) out[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
      }
    }
    at += 5 + length
  }
  return out
}

/** JSON text as bytes. */
export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
