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

export const restProtocol = "REST"
