// gRPC-Web in browsers. Connect and REST are in @signet/client.
import { createGrpcWebTransport } from "@connectrpc/connect-web"
import type { Wire } from "@signet/client"

export const grpcWeb: Wire = (options) => createGrpcWebTransport(options)
