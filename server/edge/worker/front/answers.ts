// Turns the answers of all protocols into fetch's Response.
import type { RestResponse } from "../../../serving/rest/http.ts"
import type { StreamAnswer } from "../../../serving/stream-call.ts"
import type { HeaderFields } from "../../../serving/unary-call.ts"

/** An answer of REST. */
export function restAnswer({ status, headers, body }: RestResponse): Response {
  const sent = new Headers(headers)
  sent.set("x-content-type-options", "nosniff")
  return new Response(status === 204 || status === 304 ? null : body, { status, headers: sent })
}

/** A complete answer of Connect or gRPC-Web. */
export function wholeAnswer(status: number, fields: HeaderFields, body: Uint8Array<ArrayBuffer> | undefined): Response {
  return new Response(body ?? null, { status, headers: headersOf(fields) })
}

/**
 * A stream of Connect or gRPC-Web.
 *
 * @param left Called when the caller cancels the stream.
 * @param onFault Called with the error that broke a stream.
 */
export function streamAnswer(
  { headers, body }: StreamAnswer,
  left: () => void,
  onFault: (fault: unknown) => void,
): Response {
  return new Response(streamed(body, left, onFault), { status: 200, headers: headersOf(headers) })
}

function headersOf(fields: HeaderFields): Headers {
  const headers = new Headers({ "cache-control": "no-store" })
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === "string") headers.set(name, value)
    else for (const each of value) headers.append(name, each)
  }
  return headers
}

const awakeMs = 10_000

function streamed(
  chunks: AsyncIterable<Uint8Array>,
  left: () => void,
  onFault: (fault: unknown) => void,
): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  let isLeft = false
  // Without a pending timer the platform treats a waiting stream as hung.
  const awake = setInterval(() => undefined, awakeMs)
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await iterator.next()
        if (isLeft) return
        if (done === true) {
          clearInterval(awake)
          controller.close()
        } else controller.enqueue(value)
      } catch (thrown) {
        clearInterval(awake)
        if (isLeft) return
        onFault(thrown)
        controller.error(thrown)
      }
    },
    async cancel() {
      isLeft = true
      clearInterval(awake)
      left()
      await iterator.return?.().catch(() => undefined)
    },
  })
}
