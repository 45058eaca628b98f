// How the messaging bench measures: contenders take turns, so that noise hits all alike.
import { processorMicros } from "../cpu/processor-time.ts"

export interface Contender {
  readonly name: string
  /** One call of a worker. */
  readonly act: (worker: number) => Promise<unknown>
  /** At most so many calls a round, for what is used up. */
  readonly most?: number
}

export interface Row {
  readonly name: string
  readonly perSecond?: number
  /** To the one-row UPDATE, or for streams to bare ones. */
  readonly ratio?: number
  readonly p50Ms?: number
  readonly p99Ms?: number
  /** Processor time of the server, of the database and of the callers, a call. */
  readonly serverMicros?: number
  readonly databaseMicros?: number
  readonly callerMicros?: number
}

type Micros = Required<Pick<Row, "serverMicros" | "databaseMicros" | "callerMicros">>

/** The processes whose time is measured, by their ids. */
export interface Processes {
  readonly server: number
  readonly database: number
}

/** Returns a function for the processor time since now, in microseconds for each call. */
export function startMeter({ server, database }: Processes): (calls: number) => Micros {
  const now = () => {
    const { user, system } = process.cpuUsage()
    return {
      serverMicros: processorMicros(server),
      databaseMicros: processorMicros(database),
      callerMicros: user + system,
    }
  }
  const before = now()
  return (calls) => {
    const after = now()
    const since = (name: keyof Micros) => (after[name] - before[name]) / calls
    return {
      serverMicros: since("serverMicros"),
      databaseMicros: since("databaseMicros"),
      callerMicros: since("callerMicros"),
    }
  }
}

export const workers = 16
export const baseName = "one-row UPDATE"

/** The first round warms everything up and is not counted. The ratios are to the contender of `baseName`. */
export async function measure(
  contenders: readonly Contender[],
  rounds: number,
  seconds: number,
  processes?: Processes,
): Promise<Row[]> {
  const measured = new Map(
    contenders.map(({ name }) => [name, { all: [] as number[], seconds: 0, micros: [] as Micros[] }]),
  )
  for (let round = 0; round <= rounds; round++) {
    for (const { name, act, most = Number.POSITIVE_INFINITY } of contenders) {
      const latencies: number[] = []
      let left = most
      const meter = processes && startMeter(processes)
      const began = performance.now()
      const work = async (worker: number) => {
        while (performance.now() - began < seconds * 1_000 && left-- > 0) {
          const startedMs = performance.now()
          await act(worker)
          latencies.push(performance.now() - startedMs)
        }
      }
      await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
      const known = measured.get(name)
      if (round === 0 || known === undefined) continue
      known.seconds += (performance.now() - began) / 1_000
      if (meter !== undefined) known.micros.push(meter(latencies.length))
      for (const latency of latencies) known.all.push(latency)
    }
  }
  const rateOf = (name: string) => {
    const { all, seconds: taken } = measured.get(name) ?? { all: [], seconds: Number.NaN }
    return all.length / taken
  }
  const base = rateOf(baseName)
  return contenders.map(({ name }) => {
    const perSecond = rateOf(name)
    const { all = [], micros = [] } = measured.get(name) ?? {}
    // The median of the rounds.
    const middle = micros.toSorted((a, b) => a.serverMicros - b.serverMicros)[Math.floor(micros.length / 2)]
    return { name, perSecond, ratio: perSecond / base, ...quantiles(all), ...middle }
  })
}

export function quantiles(all: readonly number[]): { p50Ms: number; p99Ms: number } {
  const sorted = all.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}
