import { randomInt } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:net"

/**
 * A loopback port for a program that may stop and start again at the same URL. It is below the ports from which the
 * system makes connections, so that none takes it meanwhile.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const port = randomInt(10_000, 32_000)
    const probe = createServer().listen(port, "127.0.0.1")
    const isFree = await once(probe, "listening").then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    probe.close()
    await once(probe, "close")
    return port
  }
  throw new Error("no free port")
}
