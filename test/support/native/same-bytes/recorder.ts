// A proxy that records what a client sends to a service, and answers another client from the record.
import { createServer, type IncomingMessage, request } from "node:http"

interface Exchange {
  readonly path: string
  /** In hexadecimal. */
  readonly body: string
  readonly status: number
  readonly headers: readonly string[]
  readonly answer: Buffer
}

export interface Recorder {
  /** Plain HTTP on loopback. */
  readonly url: string
  /** The paths and bodies of requests, in order. Their headers have the token, which differs. */
  readonly requests: string[]
  /** The requests of the replay that are not in the record, each beside the first one left there with the same path. */
  readonly unknown: { readonly path: string; readonly sent: string; readonly recorded: string | undefined }[]
  /**
   * From now on, answers from the record and not from the service, which gets registrations only. A request that is not
   * in the record is answered with status 500.
   */
  replay(): void
  close(): Promise<void>
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of message) pieces.push(piece)
  return Buffer.concat(pieces)
}

export async function startRecorder(target: string): Promise<Recorder> {
  const { hostname, port } = new URL(target)
  const record: Exchange[] = []
  let left: Exchange[] | undefined
  const requests: string[] = []
  const unknown: Recorder["unknown"] = []

  /** The service's answer. */
  async function passed(incoming: IncomingMessage, path: string, body: Buffer): Promise<Exchange> {
    // Not every client decompresses.
    const { "accept-encoding": _, ...headers } = incoming.headers
    const { method } = incoming
    const answer = await new Promise<IncomingMessage>((resolve, reject) =>
      request({ hostname, port, method, path, headers }, resolve).on("error", reject).end(body),
    )
    const made = { path, body: body.toString("hex"), status: answer.statusCode ?? 502, headers: answer.rawHeaders }
    return { ...made, answer: await bodyOf(answer) }
  }

  async function forwarded(incoming: IncomingMessage, path: string, body: Buffer): Promise<Exchange> {
    const exchange = await passed(incoming, path, body)
    record.push(exchange)
    return exchange
  }

  function replayed(exchanges: Exchange[], path: string, body: Buffer): Exchange | undefined {
    const at = exchanges.findIndex((one) => one.path === path && one.body === body.toString("hex"))
    if (at >= 0) return exchanges.splice(at, 1)[0]
    const recorded = exchanges.find((one) => one.path === path)?.body
    unknown.push({ path, sent: body.toString("hex"), recorded })
    return undefined
  }

  const server = createServer(async (incoming, outgoing) => {
    const path = incoming.url ?? "/"
    const body = await bodyOf(incoming)
    requests.push(`${path} ${body.toString("hex")}`)
    const found = left === undefined ? await forwarded(incoming, path, body) : replayed(left, path, body)
    // The service binds the session of each client to the device.
    if (left !== undefined && path.endsWith("/RegisterDevice")) await passed(incoming, path, body)
    outgoing.writeHead(found?.status ?? 500, [...(found?.headers ?? [])])
    outgoing.end(found?.answer)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the address has no port")
  return {
    url: `http://127.0.0.1:${address.port}`,
    ...{ requests, unknown },
    replay() {
      left = [...record]
      requests.splice(0)
      unknown.splice(0)
    },
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
