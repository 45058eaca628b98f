// The addresses that the suite's people call from. A server counts sign-ins by network, and the suite signs in some two
// thousand people: all of 127.0.0.0/8 is this machine, so that a server on loopback sees a network for each of them.
import { randomInt } from "node:crypto"
import { lookup } from "node:dns/promises"
import { connect } from "node:net"

/** Another loopback address each time; undefined where the server is elsewhere, or this system has 127.0.0.1 alone. */
export async function networksTo(url: string): Promise<() => string | undefined> {
  const { hostname, port } = new URL(url)
  const host = await lookup(hostname.replace(/^\[|\]$/g, ""), 4).catch(() => undefined)
  const isLoopback = host?.address.startsWith("127.") && (await accepts(Number(port), host.address, nextOf(1)))
  if (!isLoopback) return () => undefined
  let number = randomInt(1, 2 ** 24 - 2 ** 20)
  return () => nextOf(number++)
}

const nextOf = (number: number) => [127, number >> 16, (number >> 8) & 255, number & 255].join(".")

function accepts(port: number, host: string, localAddress: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ port, host, localAddress })
  socket.once("connect", () => resolve(true)).once("error", () => resolve(false))
  return promise.finally(() => socket.destroy())
}
