// Serves a fetch handler on a Node socket, for tests of the front without a Worker.
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"

interface ServedFetch {
  readonly url: string
  close(): Promise<void>
}

export async function serveFetch(handler: (request: Request) => Promise<Response>): Promise<ServedFetch> {
  const server = createServer((request, response) => {
    answer(handler, request, response).catch(() => response.destroy())
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function answer(
  handler: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const left = new AbortController()
  outgoing.once("close", () => left.abort())
  const response = await handler(requestOf(incoming, left.signal))
  outgoing.statusCode = response.status
  for (const [name, value] of response.headers) if (name !== "set-cookie") outgoing.setHeader(name, value)
  const cookies = response.headers.getSetCookie()
  if (cookies.length > 0) outgoing.setHeader("set-cookie", cookies)
  outgoing.flushHeaders()
  // The rest of the request is read and dropped, so that the caller reads its answer.
  incoming.resume()
  if (response.body === null) outgoing.end()
  else await pipeline(Readable.from(response.body), outgoing)
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers()
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value)
  }
  const { method = "GET", url = "/" } = incoming
  const hasBody = method !== "GET" && method !== "HEAD"
  const body = hasBody ? { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: "half" as const } : {}
  return new Request(`http://${headers.get("host")}${url}`, { method, headers, signal, ...body })
}
