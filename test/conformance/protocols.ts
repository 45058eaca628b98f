// The protocols of the service, by name.
import { Agent } from "node:http"
import type { Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { createRestTransport } from "../support/rest-transport.ts"

/** Closes idle connections before the server does: a request on a connection that is just closing gets no answer. */
export const http1 = {
  httpVersion: "1.1",
  nodeOptions: { agent: new Agent({ keepAlive: true, timeout: 3_000 }) },
} as const

/** JSON and binary, HTTP/1.1 and HTTP/2, and all framings. */
export const protocols: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  "Connect JSON": (baseUrl) => createConnectTransport({ baseUrl, ...http1 }),
  Connect: (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: true, useHttpGet: true }),
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
  "gRPC-Web": (baseUrl) => createGrpcWebTransport({ baseUrl, ...http1 }),
  REST: createRestTransport,
}

/** The protocols that need HTTP/2, which a server may offer at another address. */
const needsHttp2: ReadonlySet<string> = new Set(["Connect", "gRPC"])

/** Opens a transport to a server. @throws Error for an unknown protocol. */
export function transportTo({ url, http2Url = url }: { url: string; http2Url?: string }, name: string): Transport {
  const open = protocols[name]
  if (open === undefined) throw new Error(`no protocol ${name}`)
  return open(needsHttp2.has(name) ? http2Url : url)
}

export const restProtocol = "REST"
