import { heartbeatMs } from "@signet/kernel/messaging/limits"

/** Calls back once after `ms` milliseconds; the returned function cancels the call. */
export type After = (ms: number, call: () => void) => () => void

export const realAfter: After = (ms, call) => {
  const timer = setTimeout(call, ms)
  return () => clearTimeout(timer)
}

/** Calls back at every heartbeat; the returned function stops that. */
export type Beats = (beat: () => void) => () => void

/** A timer for each stream: on Workers a call has no access to the timers of another call. */
export const separateBeats =
  (after: After): Beats =>
  (beat) => {
    let cancel = () => {}
    const wait = () => {
      cancel = after(heartbeatMs, () => {
        wait()
        beat()
      })
    }
    wait()
    return () => cancel()
  }

/** So many groups of streams take turns within a heartbeat's time: fewer wake the process less often. */
const slots = 20

/**
 * One timer for all streams of the process. The streams that were opened within the same slot beat together, so that
 * they share one statement. The first heartbeat is up to one slot late.
 */
export function createBeatWheel(everyMs: number = heartbeatMs): Beats {
  const wheel = Array.from({ length: slots }, () => new Set<() => void>())
  let streams = 0
  let position = 0
  let timer: ReturnType<typeof setInterval> | undefined

  const turn = () => {
    position = (position + 1) % slots
    // A copy: a beat may end its stream.
    for (const beat of [...(wheel[position] ?? [])]) beat()
  }
  return (beat) => {
    const slot = wheel[position]
    const own = () => beat()
    slot?.add(own)
    streams++
    timer ??= setInterval(turn, everyMs / slots)
    return () => {
      if (slot?.delete(own) !== true) return
      streams--
      if (streams > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }
}
