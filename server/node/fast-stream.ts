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

async function send(response: ServerResponse, reader: Reader, answer: StreamAnswer): Promise<void> {
  const { headers, body, trailer, attach } = answer
  if (!reader.isGone()) response.writeHead(200, headers)
  let isFirst = true
  for await (const bytes of body) {
    // Leaving the loop ends the call.
    if (reader.isGone()) return
    const isFull = !response.write(bytes)
    if (isFirst) attach(reader.offer)
    isFirst = false
    if (isFull) await reader.ready()
  }
  if (reader.isGone()) return
  response.addTrailers(trailer())
  response.end()
}

interface Reader {
  readonly isGone: () => boolean
  /** Writes the bytes if the reader has taken all earlier ones. @returns False if not. */
  readonly offer: (bytes: Uint8Array) => boolean
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
  const offer = (bytes: Uint8Array) => {
    if (isGone || response.writableNeedDrain) return false
    response.write(bytes)
    return true
  }
  return { isGone: () => isGone, offer, ready }
}
