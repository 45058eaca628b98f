/** The reason why no test kills some mutants of a file. */
export interface Reason {
  readonly file: string
  readonly why: string
  /** The changes, as the generator writes them. */
  readonly changes: readonly string[]
}
