// The IP addresses of the suite's people. A server limits sign-ins by network, and the suite signs in about two
// thousand people. All of 127.0.0.0/8 is this machine, so a server on loopback sees one network for each.
import { randomInt } from "node:crypto"
import { lookup } from "node:dns/promises"
import { connect } from "node:net"

/**
 * Returns another loopback address at each call, or undefined if the server is remote or this system has 127.0.0.1
 * only.
 */
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
