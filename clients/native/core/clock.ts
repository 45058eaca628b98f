// The core's clock and timers. The host has one timer: the time at which it enters the core again.
import { callHost, emit, numberFrom, output, primitive } from "./host.ts"
import { createTimers } from "./timers.ts"

export const { clock, tick } = createTimers({
  nowMs: () => numberFrom(callHost(primitive.NOW), primitive.NOW),
  monotonicMs: () => numberFrom(callHost(primitive.MONOTONIC), primitive.MONOTONIC) / 1_000,
  wakeAt: (atMs) => emit(output.WAKE_AT, atMs),
})
