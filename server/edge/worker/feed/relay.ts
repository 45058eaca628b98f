import type { Clock } from "@signet/kernel/ports"

/** Returns the feed's current or most recent answer. Rejects with the issuer's error. */
export type Relay = (path: string) => Promise<string>

interface Answer {
  readonly text: Promise<string>
  readonly atMs: number
}

/** The maximum age of an answer, from the time of its request, in milliseconds. */
export const freshMs = 500
const most = 64
const longestMs = 15_000
/** The questions of readers that do not wait. Others are rejected. */
const questions = /^\/auth\/revocations(\?after=\d{1,16}&wait=0|\/snapshot\?after=0)$/

/** Readers with the same question share one answer. Nearly all have the same, because they have read to the end. */
export function createRelay({ ask, clock }: { ask: (path: string) => Promise<string>; clock: Clock }): Relay {
  const answers = new Map<string, Answer>()

  return (path) => {
    if (!questions.test(path)) return Promise.reject(new Error("not a question of the feed"))
    const nowMs = clock.nowMs()
    const known = answers.get(path)
    if (known !== undefined && nowMs - known.atMs < freshMs) return known.text
    const answer: Answer = { text: ask(path), atMs: nowMs }
    answers.delete(path)
    answers.set(path, answer)
    for (const [old, { atMs }] of answers) {
      if (answers.size <= most && nowMs - atMs < longestMs) break
      answers.delete(old)
    }
    // A failure is not cached.
    answer.text.catch(() => {
      if (answers.get(path) === answer) answers.delete(path)
    })
    return answer.text
  }
}
