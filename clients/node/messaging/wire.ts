import type { Transport } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"

/** Larger than every answer of the service; also the limit of decompression. */
const readMaxBytes = 32 * 1_024 * 1_024

/** Connect over HTTP/1.1. Node follows no redirect. */
export const connectTo = (baseUrl: string): Transport =>
  createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true, readMaxBytes })
