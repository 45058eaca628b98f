// A server that does nothing but write to every stream that is open: what a hint to a thousand streams is compared with.
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

const streams = new Set<ServerResponse>()
const hint = Buffer.alloc(120, 1)

const server = createServer((request, response) => {
  if (request.url === "/send") {
    for (const stream of streams) stream.write(hint)
    response.end()
    return
  }
  streams.add(response)
  response.on("close", () => streams.delete(response))
  response.writeHead(200, { "content-type": "application/octet-stream" })
  response.write(hint)
})
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on("disconnect", () => process.exit(0))
