// A streamed HTTP answer: its head, and then the pieces of its body.
import { fromBinary, type MessageInitShape } from "@bufbuild/protobuf"
import { type HttpPiece, HttpPieceSchema, type HttpRequestSchema } from "@signet/proto/host/v1/host"
import type { Send } from "../../core/messaging/peek/bounded-transport.ts"
import { perform } from "./effects.ts"

interface Arriving {
  readonly head: Promise<Pick<HttpPiece, "status" | "headers">>
  /** A reader that stops closes the connection. */
  body(): AsyncGenerator<Uint8Array>
}

export function pieces(value: MessageInitShape<typeof HttpRequestSchema>, signal: AbortSignal | undefined): Arriving {
  const stopped = new AbortController()
  const head = Promise.withResolvers<Pick<HttpPiece, "status" | "headers">>()
  const waiting: Uint8Array[] = []
  let isHead = true
  let ended: { readonly error?: unknown } | undefined
  let wake = () => {}
  const onPush = (bytes: Uint8Array) => {
    const piece = fromBinary(HttpPieceSchema, bytes)
    if (isHead) head.resolve(piece)
    else waiting.push(piece.body)
    isHead = false
    wake()
  }
  const end = (how: { readonly error?: unknown }) => {
    ended = how
    head.reject(how.error)
    wake()
  }
  const ends = AbortSignal.any([stopped.signal, ...(signal === undefined ? [] : [signal])])
  perform({ case: "http", value }, "http", { signal: ends, onPush }).then(
    ({ status, headers }) => {
      head.resolve({ status, headers })
      end({})
    },
    (error: unknown) => end({ error }),
  )
  // Only `body` reports an error after the head.
  head.promise.catch(() => undefined)
  return {
    head: head.promise,
    async *body() {
      try {
        for (;;) {
          const piece = waiting.shift()
          if (piece !== undefined) yield piece
          else if (ended !== undefined) break
          else {
            await new Promise<void>((resolve) => {
              wake = resolve
            })
          }
        }
        if (ended.error !== undefined) throw ended.error
      } finally {
        stopped.abort()
      }
    },
  }
}

/** `fetch` for a transport that reads answers piece by piece. The signal ends every request. */
export const fetchInPieces =
  (ending: AbortSignal): Send =>
  async (url, { method, headers, body, signal }) => {
    const named = [...headers].map(([name, value]) => ({ name, value }))
    const arriving = pieces({ method, url, headers: named, body, isStream: true }, AbortSignal.any([ending, signal]))
    const { status, headers: given } = await arriving.head
    const content = arriving.body()
    const cancel = async () => void (await content.return(undefined))
    const read = async () => {
      const { done = false, value } = await content.next()
      return done ? { done, value: undefined } : { done, value: value ?? undefined }
    }
    return {
      status,
      headers: new Headers(given.map(({ name, value }): [string, string] => [name, value])),
      body: { cancel, getReader: () => ({ cancel, read }) },
    }
  }
