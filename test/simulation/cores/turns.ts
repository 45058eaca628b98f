// Turns: processes of devices work one after the other, each until it waits for its host. So a messenger in Node and one in
// an engine are given the same things in the same order.
import type { Schedule } from "../schedule.ts"

/** The work of one process. Once it has ended, nothing of it happens any more. */
export interface Lane {
  /** The app calls the messenger. The answer is given after the turn in which it is known. */
  call<T>(work: () => Promise<T>): Promise<T>
  /** The host performs something that takes no time: it performs it, and gives the result, in one turn. */
  soon<T>(perform: () => Promise<T>): Promise<T>
  /** The host begins something in one turn, and gives the result in another one. */
  later<T>(perform: () => Promise<T>): Promise<T>
  /** The host enters the messenger: for a timer, or with a piece of an answer. */
  turn(enter: () => void): void
  /** The messenger reports something to its app: after the turn, and before answers. */
  report(deliver: () => void): void
  readonly isOver: () => boolean
  /** Aborted once the process has ended. */
  readonly ended: AbortSignal
  /** The process has ended: its calls fail. */
  end(): void
}

interface LaneOptions {
  readonly isOver: () => boolean
  /** Random bytes for what a messenger in Node draws from the platform itself. */
  readonly bytes: (length: number) => Uint8Array
}

export interface Turns {
  lane(options: LaneOptions): Lane
  /** Every process has ended. */
  end(): void
  /** The random bytes of the process whose turn it is; undefined if it is nobody's. */
  readonly bytes: LaneOptions["bytes"] | undefined
}

interface Turn {
  readonly lane: Pick<Lane, "isOver" | "end"> & Pick<LaneOptions, "bytes"> & { deliver(): Promise<void> }
  readonly work: () => void | Promise<void>
}

type Answer = PromiseSettledResult<unknown>

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

export function createTurns(schedule: Pick<Schedule, "outside">): Turns {
  const waiting: Turn[] = []
  const lanes: Lane[] = []
  let isRunning = false
  let bytes: Turns["bytes"]

  async function run(): Promise<void> {
    // The code that asked for a turn finishes its own work first.
    await settled()
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { lane, work } = next
      if (lane.isOver()) {
        lane.end()
        continue
      }
      bytes = lane.bytes
      await work()
      await settled()
      bytes = undefined
      await lane.deliver()
    }
    isRunning = false
  }

  function add(turn: Turn): void {
    waiting.push(turn)
    if (isRunning) return
    isRunning = true
    void schedule.outside(run)
  }

  return {
    lane(options) {
      const lane = createLane(options, add)
      lanes.push(lane)
      return lane
    },
    end() {
      for (const lane of lanes) lane.end()
    },
    get bytes() {
      return bytes
    },
  }
}

function createLane({ bytes, ...options }: LaneOptions, add: (turn: Turn) => void): Lane {
  const calls = new Map<number, (answer: Answer) => void>()
  const answers: { readonly id: number; readonly answer: Answer }[] = []
  const reports: (() => void)[] = []
  let last = 0
  const ending = new AbortController()

  function settle(id: number, answer: Answer): void {
    const give = calls.get(id)
    calls.delete(id)
    give?.(answer)
  }

  const lane: Lane = {
    ended: ending.signal,
    isOver: () => ending.signal.aborted || options.isOver(),
    call: <T>(work: () => Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        const id = ++last
        calls.set(id, (answer) => (answer.status === "rejected" ? reject(answer.reason) : resolve(answer.value as T)))
        if (lane.isOver()) return lane.end()
        const know = (answer: Answer) => answers.push({ id, answer })
        lane.turn(() => {
          work().then(
            (value) => know({ status: "fulfilled", value }),
            (reason) => know({ status: "rejected", reason }),
          )
        })
      }),
    soon: (perform) =>
      new Promise((resolve, reject) => {
        const work = async () => {
          const give = await perform().then(
            (value) => () => resolve(value),
            (error: unknown) => () => reject(error),
          )
          if (lane.isOver()) lane.end()
          else give()
        }
        add({ lane: own, work })
      }),
    later: (perform) =>
      new Promise((resolve, reject) => {
        lane.turn(() => {
          perform().then(
            (value) => lane.turn(() => resolve(value)),
            (error: unknown) => lane.turn(() => reject(error)),
          )
        })
      }),
    turn: (work) => add({ lane: own, work }),
    report: (deliver) => void reports.push(deliver),
    end() {
      ending.abort()
      for (const id of [...calls.keys()]) settle(id, { status: "rejected", reason: new Error("the process has ended") })
    },
  }
  const own: Turn["lane"] = {
    ...{ bytes, isOver: lane.isOver, end: lane.end },
    /** In the order of the calls: how many steps an answer takes inside a messenger is not compared. */
    async deliver() {
      for (const report of reports.splice(0)) report()
      for (const { id, answer } of answers.splice(0).sort((a, b) => a.id - b.id)) {
        settle(id, answer)
        await settled()
      }
    },
  }
  return lane
}
