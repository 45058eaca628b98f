import { randomInt } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:net"

/** Ports below those from which the system makes connections. Each worker of a test run has a slice of them. */
const [first, slices, sliceSize] = [10_000, 16, 1_375]
const chosen = new Set<number>()

/**
 * A loopback port for a program that may stop and start again at the same URL. It was free a moment ago, and no other
 * worker of this test run chooses it. Another program can still take it.
 */
export async function freePort(): Promise<number> {
  const slice = Number(process.env.VITEST_POOL_ID ?? 0) % slices
  for (let attempt = 0; attempt < 50; attempt++) {
    const port = first + slice * sliceSize + randomInt(sliceSize)
    if (chosen.has(port)) continue
    const probe = createServer().listen(port, "127.0.0.1")
    const isFree = await once(probe, "listening").then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    probe.close()
    await once(probe, "close")
    chosen.add(port)
    return port
  }
  throw new Error("no free port")
}
