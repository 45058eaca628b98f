// Handles server streams on Node's server and writes directly to its response.
import type { ServerResponse } from "node:http"
import type { MethodImplSpec } from "@connectrpc/connect"
import { type StreamAnswer, streamCall } from "../serving/stream-call.ts"
import { type Fast, type FastOptions, requestOf } from "./fast-unary.ts"

export function fastStream(spec: MethodImplSpec, options: FastOptions): Fast {
  if (spec.kind !== "server_streaming") return () => false
  const call = streamCall(spec, options)
  return (request, reply) => {
    const asked = requestOf(request, reply, options, options.closingSignal)
    if (asked === undefined || asked.framing.protocol === "connect") return false
    const reader = readerOf(reply.raw)
    return call(asked).then((answer) => send(reply.raw, reader, answer))
  }
}

async function send(response: ServerResponse, reader: Reader, { headers, body, trailer }: StreamAnswer): Promise<void> {
  if (!reader.isGone()) response.writeHead(200, headers)
  for await (const bytes of body) {
    // Leaving the loop ends the call.
    if (reader.isGone()) return
    if (!response.write(bytes)) await reader.ready()
  }
  if (reader.isGone()) return
  response.addTrailers(trailer())
  response.end()
}

interface Reader {
  readonly isGone: () => boolean
  /** Waits until the reader has taken what was written, or has left. */
  readonly ready: () => Promise<void>
}

function readerOf(response: ServerResponse): Reader {
  let isGone = response.destroyed
  let wake = () => {}
  response.on("drain", () => wake())
  // The event is the only sign over HTTP/2, whose responses have no `destroyed`.
  response.once("close", () => {
    isGone = true
    wake()
  })
  const ready = () =>
    new Promise<void>((resolve) => {
      wake = resolve
      if (isGone || !response.writableNeedDrain) resolve()
    })
  return { isGone: () => isGone, ready }
}
