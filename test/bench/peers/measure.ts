// One measurement of a server's call, for the benches that compare servers.
import { processorMicros } from "../cpu/processor-time.ts"

/** Calls at the same time, each of a client or session of its own. */
export const callers = 16

export const durable = { fsync: "on", synchronous_commit: "on", full_page_writes: "on", shared_buffers: "256MB" }

export interface Measured {
  readonly perSecond: number
  /** Processor time of the server's processes, a call. */
  readonly serverMicros: number
  readonly databaseMicros: number
  readonly p50Ms: number
}

/** @param server A process, or several that do the work together. */
export async function measureOnce(
  act: (caller: number) => Promise<unknown>,
  { server, database, seconds }: { server: number | readonly number[]; database: number; seconds: number },
): Promise<Measured> {
  const latencies: number[] = []
  const ofServers = () => [server].flat().reduce((sum, pid) => sum + processorMicros(pid), 0)
  const before = [ofServers(), processorMicros(database)] as const
  const began = performance.now()
  const work = async (caller: number) => {
    // Each caller calls at least once, however slow the machine is.
    do {
      const startedMs = performance.now()
      await act(caller)
      latencies.push(performance.now() - startedMs)
    } while (performance.now() - began < seconds * 1_000)
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => work(caller)))
  const calls = latencies.length
  return {
    perSecond: (calls / (performance.now() - began)) * 1_000,
    serverMicros: (ofServers() - before[0]) / calls,
    databaseMicros: (processorMicros(database) - before[1]) / calls,
    p50Ms: median(latencies),
  }
}

export function median(of: readonly number[]): number {
  const sorted = of.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN
}
