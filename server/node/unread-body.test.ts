// Who is refused before the whole body has come is let go soon.
import http2 from "node:http2"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startTransports, type TransportServer } from "./testing/transport-server.ts"

let server: TransportServer
beforeAll(async () => {
  server = await startTransports()
})
afterAll(() => server.app.close())

const requests: [what: string, path: string, contentType: string][] = [
  ["a gRPC call", "/signet.auth.v1.AuthService/Refresh", "application/grpc+proto"],
  ["a Connect call", "/signet.auth.v1.AuthService/Refresh", "application/proto"],
  ["a REST call", "/auth/session/refresh", "application/json"],
  ["a call of another content type", "/signet.auth.v1.AuthService/Refresh", "text/plain"],
]

test.concurrent.each(requests)(
  "%s over HTTP/2 that is too large ends its stream with its answer",
  async (_, path, contentType) => {
    const session = http2.connect(server.url)
    try {
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": contentType, te: "trailers" })
      // Node tells a client of the reset by one of the two, depending on what it has yet to send.
      const closed = new Promise<number>((resolve) => {
        for (const event of ["aborted", "close"]) stream.once(event, () => resolve(stream.rstCode))
      })
      const answered = new Promise((resolve) => stream.once("response", resolve))
      stream.on("error", () => {})
      // Never ended by the client: an envelope that says 1 MiB, and as much as the window takes of it.
      stream.write(Buffer.concat([Buffer.from([0, 0, 16, 0, 0]), Buffer.alloc(200_000)]))
      stream.resume()
      await answered
      expect(await closed).toBe(http2.constants.NGHTTP2_NO_ERROR)
    } finally {
      session.destroy()
    }
  },
  5_000,
)
