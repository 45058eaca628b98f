/** Why no test kills some mutants of a file. */
export interface Reason {
  readonly file: string
  readonly why: string
  /** As the generator names them. */
  readonly changes: readonly string[]
}
