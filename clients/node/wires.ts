// Protocols, as Node speaks them. REST is in @signet/client.
import { createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import type { Wire } from "@signet/client"

/** Over HTTP/2, as gRPC is. */
export const grpc: Wire = ({ baseUrl }) => createGrpcTransport({ baseUrl })

export const grpcWeb: Wire = ({ baseUrl }) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })

export { connect } from "@signet/client"
