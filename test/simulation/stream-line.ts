// A stream between a device and the service. What comes over it is late, in another order, doubled or lost; and it is cut
// with an error, or without one.
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import type { Network } from "./network.ts"
import type { Schedule } from "./schedule.ts"
import type { Seeded } from "./seeded.ts"

/** A stream that a device reads. */
export interface OpenStream {
  readonly device: string
  /** Loudly: it ends with an error. Silently: nothing arrives any more, and nobody says so. */
  cut(how: "loudly" | "silently"): void
}

interface StreamLine {
  readonly device: string
  readonly isDead: () => boolean
  readonly network: Network
  readonly schedule: Schedule
  readonly random: Seeded
  /** Those that are open. */
  readonly streams: Set<OpenStream>
}

const lost = (why: string) => new ConnectError(why, Code.Unavailable)
const longestMs = 400

export function streamOver(service: Transport, line: StreamLine): Transport["stream"] {
  const { device, isDead, network, schedule, random, streams } = line
  const stream: Transport["stream"] = async (method, signal, timeoutMs, header, input, values) => {
    const [there, isLost] = [1 + random.below(40), random.chance(network.faults.drops)]
    await schedule.wait(there)
    if (isDead()) throw lost("the process has ended")
    if (isLost || network.isDown || network.parted.has(device)) throw lost("no stream is opened")
    const ending = new AbortController()
    const answer = await service.stream(method, ending.signal, timeoutMs, header, input, values)
    const arrived = createArrivals<Awaited<ReturnType<ReturnType<typeof messages>["next"]>>["value"]>()
    let isDeaf = false
    const open: OpenStream = {
      device,
      cut(how) {
        streams.delete(open)
        isDeaf = true
        if (how === "silently") return
        ending.abort()
        arrived.fail(lost("the stream was cut"))
      },
    }
    streams.add(open)
    const close = () => {
      streams.delete(open)
      isDeaf = true
      ending.abort()
      arrived.fail(new ConnectError("the reader has gone", Code.Canceled))
    }
    signal?.addEventListener("abort", close, { once: true })
    if (signal?.aborted) close()
    const messages = () => answer.message[Symbol.asyncIterator]()
    const arrive = (ms: number, happen: () => void) =>
      schedule.after(ms, () => {
        if (!isDeaf && !network.parted.has(device)) happen()
      })
    /** Nobody reads on behind a silent cut: the service finds out by itself. */
    const pump = async () => {
      const source = messages()
      while (!isDeaf) {
        const next = await source.next()
        const { drops, duplicates } = network.faults
        const [delay, again] = [1 + random.below(longestMs), 1 + random.below(longestMs)]
        const [isDropped, isTwice] = [random.chance(drops), random.chance(duplicates)]
        if (next.done === true) return arrive(longestMs, arrived.end)
        if (!isDropped) arrive(delay, () => arrived.put(next.value))
        if (isTwice) arrive(again, () => arrived.put(next.value))
      }
    }
    pump().catch((error: unknown) => arrive(longestMs, () => arrived.fail(error)))
    return { ...answer, message: arrived.read(close) }
  }
  return stream
}

export interface Arrivals<Item> {
  put(item: Item): void
  end(): void
  fail(error: unknown): void
  read(closed: () => void): AsyncIterable<Item>
}

export function createArrivals<Item>(): Arrivals<Item> {
  const waiting: Item[] = []
  let over: { readonly error: unknown } | "ended" | undefined
  let wake = () => {}
  const finish = (how: NonNullable<typeof over>) => {
    over ??= how
    wake()
  }
  return {
    put(item) {
      waiting.push(item)
      wake()
    },
    end: () => finish("ended"),
    fail: (error) => finish({ error }),
    async *read(closed) {
      try {
        for (;;) {
          const next = waiting.shift()
          if (next !== undefined) yield next
          else if (over === "ended") return
          else if (over !== undefined) throw over.error
          else {
            await new Promise<void>((resolve) => {
              wake = resolve
            })
          }
        }
      } finally {
        closed()
      }
    },
  }
}
