/** One hand-written mutant: a text that occurs once in a file, its replacement, and the test that must fail with it. */
export interface Mutant {
  readonly fault: string
  /** Path from the root of the repository. */
  readonly file: string
  readonly from: string
  readonly to: string
  readonly test: string
  readonly name: string
  /** For a test that is a row of a table: the file that has the row, and the row's text if it differs from `name`. */
  readonly table?: string
  readonly row?: string
}
