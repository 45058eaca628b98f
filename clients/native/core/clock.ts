// Timers. The host has one: the time at which it enters the core again.
import type { Clock } from "@signet/client"
import { callHost, emit, numberFrom, output, primitive } from "./host.ts"

interface Timer {
  /** By the monotonic clock, in milliseconds. */
  readonly dueMs: number
  readonly run: () => void
}

const timers = new Set<Timer>()
/** When the host wakes the core, by the monotonic clock; undefined for never. */
let wakesMs: number | undefined

const nowMs = () => numberFrom(callHost(primitive.NOW), primitive.NOW)
const monotonicMs = () => numberFrom(callHost(primitive.MONOTONIC), primitive.MONOTONIC) / 1_000

export const clock: Clock = {
  nowMs,
  after(ms, run) {
    const timer: Timer = { dueMs: monotonicMs() + Math.max(0, ms), run }
    timers.add(timer)
    if (wakesMs === undefined || timer.dueMs < wakesMs) wakeAt(timer.dueMs)
    // The host may wake the core for a canceled timer: asking it not to costs as much.
    return () => void timers.delete(timer)
  },
}

/** Called by the host. Runs what is due. */
export function tick(): void {
  const now = monotonicMs()
  wakesMs = undefined
  const due = [...timers].filter(({ dueMs }) => dueMs <= now).sort((a, b) => a.dueMs - b.dueMs)
  for (const timer of due) {
    if (timers.delete(timer)) timer.run()
  }
  const next = Math.min(...[...timers].map(({ dueMs }) => dueMs))
  if (next !== wakesMs) wakeAt(next)
}

function wakeAt(dueMs: number): void {
  if (dueMs === Number.POSITIVE_INFINITY) {
    wakesMs = undefined
    emit(output.WAKE_AT, 0)
    return
  }
  wakesMs = dueMs
  // Rounded up: a core that wakes early would ask again.
  emit(output.WAKE_AT, Math.ceil(nowMs() + Math.max(0, dueMs - monotonicMs())) + 1)
}
