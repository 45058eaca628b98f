import { Code, ConnectError } from "@connectrpc/connect"

/** Larger than every answer of the service. */
const longestAnswer = 32 * 1_024 * 1_024

/** `fetch` with a size limit on answers. Streams are not limited: they last as long as they are read. */
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
      else controller.error(new ConnectError("the answer exceeds the size limit", Code.ResourceExhausted))
    },
  })
}
