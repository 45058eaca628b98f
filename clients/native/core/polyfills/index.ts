// The globals that the client uses and QuickJS-ng lacks. Imported first: other modules use them while they are loaded.
import { AbortController, AbortSignal } from "./abort.ts"
import { cryptoGlobal } from "./crypto.ts"
import { Headers } from "./headers.ts"
import { ReadableStream } from "./readable-stream.ts"
import { TextDecoder, TextEncoder } from "./text.ts"
import { URL } from "./url.ts"

Object.assign(globalThis, {
  AbortController,
  AbortSignal,
  crypto: cryptoGlobal,
  Headers,
  ReadableStream,
  TextDecoder,
  TextEncoder,
  URL,
})
