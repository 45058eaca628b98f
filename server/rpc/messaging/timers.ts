/** Calls back once, after so many milliseconds; cancels when the returned function is called. */
export type After = (ms: number, call: () => void) => () => void

export const realAfter: After = (ms, call) => {
  const timer = setTimeout(call, ms)
  return () => clearTimeout(timer)
}
