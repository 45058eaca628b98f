/** Adapts a command's work for commander: errors are printed, and the exit code is stored. */
export type Run = <Args extends readonly unknown[]>(
  work: (...args: Args) => Promise<number | undefined>,
) => (...args: Args) => Promise<void>
