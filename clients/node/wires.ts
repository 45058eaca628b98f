// Protocols for Node. REST is in @signet/client.
import { createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import type { Wire } from "@signet/client"

/** gRPC, over HTTP/2. */
export const grpc: Wire = ({ baseUrl }) => createGrpcTransport({ baseUrl })

export const grpcWeb: Wire = ({ baseUrl }) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })

export { connect } from "@signet/client"
