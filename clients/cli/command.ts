/** Makes what commander runs of what a command does: errors are said, and the exit code is kept. */
export type Run = <Said extends readonly unknown[]>(
  work: (...said: Said) => Promise<number | undefined>,
) => (...said: Said) => Promise<void>
