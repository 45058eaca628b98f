import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { gzipSync } from "node:zlib"
import { Code, createClient } from "@connectrpc/connect"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { expect, test } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { connectTo } from "./wire.ts"

/** The result of a client's call to a service with this answer. */
async function asking(answer: (response: ServerResponse) => void): Promise<unknown> {
  const server = createServer((request, response) => {
    request.resume()
    response.setHeader("content-type", "application/proto")
    answer(response)
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  try {
    const { port } = server.address() as AddressInfo
    const client = createClient(DeviceService, connectTo(`http://127.0.0.1:${port}`))
    return await client.getIssuerKeys({}).catch((error: unknown) => error)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const mib = 1_024 * 1_024

test.runIf(isLong)("an answer that decompresses beyond the limit is refused", async () => {
  const packed = gzipSync(Buffer.alloc(40 * mib), { level: 1 })
  expect(packed.length).toBeLessThan(mib)
  const answer = await asking((response) => {
    response.setHeader("content-encoding", "gzip")
    response.end(packed)
  })
  expect(answer).toMatchObject({ code: Code.ResourceExhausted })
})

test("an endless answer is refused at the limit", async () => {
  let sent = 0
  const answer = await asking((response) => {
    const more = () => {
      while (!response.destroyed && sent < 256 * mib) {
        sent += mib
        if (!response.write(Buffer.alloc(mib))) {
          response.once("drain", more)
          return
        }
      }
    }
    more()
  })
  expect(answer).toMatchObject({ code: Code.ResourceExhausted })
  expect(sent).toBeLessThan(128 * mib)
})

test("a redirect is not followed", async () => {
  const answer = await asking((response) => {
    response.writeHead(307, { location: "http://127.0.0.1:1/elsewhere" }).end()
  })
  expect(answer).toMatchObject({ code: Code.Unknown })
})
