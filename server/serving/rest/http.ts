// A REST call, independent of the HTTP server.
import type { ContextValues } from "@connectrpc/connect"
import type { Address } from "./request-message.ts"

export interface RestRequest extends Address {
  readonly id: string
  readonly url: string
  readonly headers: () => Headers
  readonly gone: () => AbortSignal
  readonly values: ContextValues | undefined
  /** Reads the body, and refuses a longer one. Called at most once. */
  readonly readBody: (maxBytes: number) => Promise<Uint8Array>
}

export interface RestResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}
