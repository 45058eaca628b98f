/** Adapts a command's work for commander: errors are printed, and the exit code is stored. */
export type Run = <Said extends readonly unknown[]>(
  work: (...said: Said) => Promise<number | undefined>,
) => (...said: Said) => Promise<void>
