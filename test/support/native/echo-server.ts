// An HTTP server that answers what it received, streams, redirects, or delays.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface EchoServer {
  readonly url: string
  close(): Promise<void>
}

/** `/echo` answers the method and body, and the request's headers in `x-seen`. */
export async function startEchoServer(): Promise<EchoServer> {
  const server = createServer((request, response) => {
    if (request.url === "/redirect") response.writeHead(302, { location: "/echo" }).end()
    else if (request.url === "/slow") setTimeout(() => response.end(), 5_000)
    else if (request.url === "/stream") {
      response.writeHead(200, { "x-one": "1" })
      response.write("first")
      setTimeout(() => response.end("second"), 100)
    } else {
      const parts: Buffer[] = []
      request.on("data", (part: Buffer) => parts.push(part))
      request.on("end", () =>
        response
          .writeHead(200, { "set-cookie": "a=1", "x-seen": JSON.stringify(request.headers) })
          .end(`${request.method} ${Buffer.concat(parts).toString()}`),
      )
    }
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
