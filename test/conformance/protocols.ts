// The ways of calling the service.
import type { Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { createRestTransport } from "../support/rest-transport.ts"

/** JSON and binary, HTTP/1.1 and HTTP/2, and each frame that there is. */
export const protocols: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  "Connect JSON": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" }),
  Connect: (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: true, useHttpGet: true }),
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
  "gRPC-Web": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  REST: createRestTransport,
}

/** Those that need HTTP/2, which a server may speak at another address. */
const needsHttp2: ReadonlySet<string> = new Set(["Connect", "gRPC"])

/** The way to a server. @throws Error for a protocol that there is not. */
export function transportTo({ url, http2Url = url }: { url: string; http2Url?: string }, name: string): Transport {
  const open = protocols[name]
  if (open === undefined) throw new Error(`no protocol ${name}`)
  return open(needsHttp2.has(name) ? http2Url : url)
}

export const restProtocol = "REST"
