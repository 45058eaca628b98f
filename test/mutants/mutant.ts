/** One hand-made fault: a text that occurs once in a file, what it becomes, and the test that has to fail then. */
export interface Mutant {
  readonly fault: string
  /** Paths are from the root of the repository. */
  readonly file: string
  readonly from: string
  readonly to: string
  readonly test: string
  readonly name: string
  /** Of a test that is a row of a table: the file that holds the row, and how it is written there if not as `name`. */
  readonly table?: string
  readonly row?: string
}
