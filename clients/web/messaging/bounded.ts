import { Code, ConnectError } from "@connectrpc/connect"

/** More than any answer of the service is. */
const longestAnswer = 32 * 1_024 * 1_024

/** `fetch`, but for answers that are longer than any is. Streams are not counted: they go on for as long as they are read. */
export function boundedFetch(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await send(input, init)
    const { body, status, statusText, headers } = response
    const isStream = headers.get("content-type")?.startsWith("application/connect+") === true
    if (body === null || isStream) return response
    return new Response(body.pipeThrough(counted()), { status, statusText, headers })
  }
}

function counted(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let length = 0
  return new TransformStream({
    transform(chunk, controller) {
      length += chunk.length
      if (length <= longestAnswer) controller.enqueue(chunk)
      else controller.error(new ConnectError("the answer is longer than any is", Code.ResourceExhausted))
    },
  })
}
