// A fixed URL with a changeable target, like a load balancer in front of messaging backends.
import { connect, createServer, type Socket } from "node:net"

export interface Switchable {
  /** Plain HTTP on loopback. */
  readonly url: string
  /** Directs new connections to this URL and ends open ones. */
  switchTo(url: string): void
  close(): Promise<void>
}

export async function startSwitchable(url: string): Promise<Switchable> {
  let target = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const backend = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, backend],
      [backend, client],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on("error", () => to.destroy())
      from.on("close", () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the address has no port")
  const endAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${address.port}`,
    switchTo(next) {
      target = new URL(next)
      endAll()
    },
    async close() {
      endAll()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
