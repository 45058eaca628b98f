// How the messaging bench measures: contenders take turns, so that noise hits all alike.

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
}

export const workers = 16
export const baseName = "one-row UPDATE"

/** The first round warms everything up and is not counted. The ratios are to the contender of `baseName`. */
export async function measure(contenders: readonly Contender[], rounds: number, seconds: number): Promise<Row[]> {
  const measured = new Map(contenders.map(({ name }) => [name, { all: [] as number[], seconds: 0 }]))
  for (let round = 0; round <= rounds; round++) {
    for (const { name, act, most = Number.POSITIVE_INFINITY } of contenders) {
      const latencies: number[] = []
      let left = most
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
    return { name, perSecond, ratio: perSecond / base, ...quantiles(measured.get(name)?.all ?? []) }
  })
}

export function quantiles(all: readonly number[]): { p50Ms: number; p99Ms: number } {
  const sorted = all.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}
