/** Calls back once after `ms` milliseconds; the returned function cancels the call. */
export type After = (ms: number, call: () => void) => () => void

export const realAfter: After = (ms, call) => {
  const timer = setTimeout(call, ms)
  return () => clearTimeout(timer)
}
