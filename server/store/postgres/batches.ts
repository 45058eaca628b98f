// Group commit: runs the calls that arrive while a statement runs as one further statement.
import { Refused } from "@signet/kernel/errors"
import { isLost } from "./retry.ts"

/** Calls of one statement at most. */
const most = 64

/** Milliseconds after which a statement that has not ended no longer holds up the next one. */
const slowMs = 250

/** A call runs alone after this number of statements in which another call had locked its rows. */
const mostTries = 3

/** `busy` for a call whose rows are locked, and `alone` for a call that only a statement of its own can decide. */
type Unanswered = "busy" | "alone"

export interface Batch<Call, Answer extends object> {
  /** Runs calls in one statement, which waits for no lock of another call. Returns the result of each, in order. */
  readonly runAll: (calls: readonly Call[]) => Promise<readonly (Answer | Unanswered)[]>
  /** Runs one call in a statement that may wait for locks. */
  readonly runAlone: (call: Call) => Promise<Answer>
}

interface Waiting<Call, Answer> {
  readonly call: Call
  readonly resolve: (answer: Answer | Promise<Answer>) => void
  readonly reject: (error: unknown) => void
  tries: number
}

/**
 * After a lost connection it is unknown whether a statement was committed, and without one each call alone would wait as
 * long again. Every other error is a rollback.
 */
const isUndone = (error: unknown) => !isLost(error) && !(error instanceof Refused && error.reason === "UNAVAILABLE")

/**
 * Returns a function that runs a call together with those that wait. The first call of an idle process starts at the end
 * of the current turn of the event loop, and later ones when the running statement ends. After a failed statement each
 * of its calls runs alone, so no call fails because of another one.
 */
export function batched<Call, Answer extends object>({
  runAll,
  runAlone,
}: Batch<Call, Answer>): (call: Call) => Promise<Answer> {
  let waiting: Waiting<Call, Answer>[] = []
  let isRunning = false

  const alone = ({ call, resolve }: Waiting<Call, Answer>) => resolve(runAlone(call))

  async function settle(batch: readonly Waiting<Call, Answer>[]): Promise<void> {
    let answers: readonly (Answer | Unanswered)[]
    try {
      answers = await runAll(batch.map(({ call }) => call))
    } catch (error) {
      for (const each of batch) {
        if (isUndone(error)) alone(each)
        else each.reject(error)
      }
      return
    }
    for (const [i, each] of batch.entries()) {
      const answer = answers[i] ?? "alone"
      each.tries++
      if (typeof answer === "object") each.resolve(answer)
      else if (answer === "busy" && each.tries < mostTries) waiting.push(each)
      else alone(each)
    }
  }

  function start(): void {
    const batch = waiting.slice(0, most)
    waiting = waiting.slice(most)
    isRunning = batch.length > 0
    if (!isRunning) return
    let hasEnded = false
    const end = () => {
      clearTimeout(slow)
      // After a slow statement, a busy call of it may wait while no later statement runs.
      if (!hasEnded || !isRunning) start()
      hasEnded = true
    }
    const slow = setTimeout(end, slowMs)
    void settle(batch).then(end)
  }

  return (call) =>
    new Promise((resolve, reject) => {
      waiting.push({ call, resolve, reject, tries: 0 })
      if (isRunning) return
      isRunning = true
      setImmediate(start)
    })
}
