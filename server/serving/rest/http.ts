// A REST call as HTTP has it, whichever server took it.
import type { ContextValues } from "@connectrpc/connect"
import type { Address } from "./request-message.ts"

export interface RestRequest extends Address {
  readonly id: string
  readonly url: string
  readonly headers: () => Headers
  readonly gone: () => AbortSignal
  readonly values: ContextValues | undefined
  /** Reads the body; refuses one of more bytes than that. Called at most once. */
  readonly readBody: (maxBytes: number) => Promise<Uint8Array>
}

export interface RestResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}
