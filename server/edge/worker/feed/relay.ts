import type { Clock } from "@signet/kernel/ports"

/** The answer to a question of the feed, of this moment or of just before. Rejects with what the issuer's answer did. */
export type Relay = (path: string) => Promise<string>

interface Answer {
  readonly text: Promise<string>
  readonly atMs: number
}

/** How old an answer may be, from when it was asked for. */
export const freshMs = 500
const most = 64
const longestMs = 15_000
/** The questions of readers that do not wait: others reach nobody. */
const questions = /^\/auth\/revocations(\?after=\d{1,16}&wait=0|\/snapshot\?after=0)$/

/** Readers who ask the same get one answer. Nearly all do: they have read to the end. */
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
    // A failure is nobody else's.
    answer.text.catch(() => {
      if (answers.get(path) === answer) answers.delete(path)
    })
    return answer.text
  }
}
