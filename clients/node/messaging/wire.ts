import type { Transport } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"

/** More than any answer of the service is; packed ones are unpacked up to this. */
const readMaxBytes = 32 * 1_024 * 1_024

/** Connect over HTTP/1.1. Node follows no redirect. */
export const connectTo = (baseUrl: string): Transport =>
  createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true, readMaxBytes })
