import type { Clock, Random } from "@signet/client"

export const clock: Clock = {
  nowMs: () => Date.now(),
  after(ms, run) {
    // A longer timer would fire at once.
    const timer = setTimeout(run, Math.min(ms, 2 ** 31 - 1))
    return () => clearTimeout(timer)
  },
}

export const random: Random = { bytes: (length) => crypto.getRandomValues(new Uint8Array(length)) }
