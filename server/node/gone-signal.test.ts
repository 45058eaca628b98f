import { once } from "node:events"
import { createServer, request, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, expect, test } from "vitest"
import { goneSignal } from "./gone-signal.ts"

let server: Server
beforeAll(async () => {
  server = createServer()
  await once(server.listen(0, "127.0.0.1"), "listening")
})
afterAll(() => server.close())

async function call(): Promise<{ response: ServerResponse; disconnect: () => void; ended: Promise<unknown> }> {
  const sent = request({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" })
  sent.on("error", () => undefined).end()
  const [, response] = (await once(server, "request")) as [unknown, ServerResponse]
  sent.on("response", (answer) => answer.resume())
  return { response, disconnect: () => sent.destroy(), ended: once(response, "close") }
}

test("the server's shutdown aborts open calls with its reason, and no finished call", async () => {
  const shutdown = new AbortController()
  const [open, other, finished] = [await call(), await call(), await call()]
  const signals = [open, other, finished].map(({ response }) => goneSignal(response, shutdown.signal))
  finished.response.end("done")
  await finished.ended
  const reason = new Error("the server stops")
  shutdown.abort(reason)
  expect(signals.map((signal) => signal.reason)).toEqual([reason, reason, undefined])
  for (const { response } of [open, other]) response.end()
})

test("a call that arrives during the shutdown is aborted at once", async () => {
  const { response } = await call()
  expect(goneSignal(response, AbortSignal.abort("stopped")).reason).toBe("stopped")
  response.end()
})

test("a client that disconnects aborts its call alone", async () => {
  const shutdown = new AbortController()
  const [one, other] = [await call(), await call()]
  const [gone, stays] = [one, other].map(({ response }) => goneSignal(response, shutdown.signal))
  one.disconnect()
  await one.ended
  expect(gone?.reason).toMatchObject({ rawMessage: "the client closed the connection" })
  expect(stays?.aborted).toBe(false)
  expect(goneSignal(one.response, shutdown.signal).aborted).toBe(true)
  other.response.end()
})
