// A client that is refused before its whole body has arrived is released soon.
import http2 from "node:http2"
import { afterAll, beforeAll, expect, test } from "vitest"
import { sample } from "../../test/support/effort.ts"
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

test.concurrent.each(sample(2, requests))(
  "%s over HTTP/2 that is too large ends its stream with its answer",
  async (_, path, contentType) => {
    const session = http2.connect(server.url)
    try {
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": contentType, te: "trailers" })
      // Node reports the reset by one of the two events, depending on what it still has to send.
      const closed = new Promise<number>((resolve) => {
        for (const event of ["aborted", "close"]) stream.once(event, () => resolve(stream.rstCode))
      })
      const answered = new Promise((resolve) => stream.once("response", resolve))
      stream.on("error", () => {})
      // The client never ends it: an envelope that announces 1 MiB, and as much of it as the window allows.
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
