// A reverse proxy that passes requests to a service, and drops the connection in place of chosen answers.
import { createServer, request } from "node:http"

export interface LosingProxy {
  /** Plain HTTP on loopback. */
  readonly url: string
  /** The end of the paths whose answers are lost; undefined for none. */
  losing: string | undefined
  /** Number of lost answers. */
  readonly lost: number
  close(): Promise<void>
}

export async function startLosingProxy(target: string): Promise<LosingProxy> {
  const { hostname, port } = new URL(target)
  let lost = 0
  const server = createServer((incoming, outgoing) => {
    const { method, url: path = "/", headers } = incoming
    const passed = request({ hostname, port, method, path, headers }, (answer) => {
      // Without the answer of a preflight, a browser would not send the request itself.
      if (proxy.losing !== undefined && method !== "OPTIONS" && path.endsWith(proxy.losing)) {
        lost++
        // The service has done the work: its answer is read, and dropped.
        answer.resume().on("end", () => incoming.socket.destroy())
        return
      }
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(outgoing)
    })
    passed.on("error", () => incoming.socket.destroy())
    incoming.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the address has no port")
  const proxy: LosingProxy = {
    url: `http://127.0.0.1:${address.port}`,
    losing: undefined,
    get lost() {
      return lost
    },
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
  return proxy
}
