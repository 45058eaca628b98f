// The files through which the search for survivors (hunt.ts) and the test runner (runner.ts) communicate.

/** The input of the test runner. */
export interface Order {
  /** Path of the file that the runner appends its lines to. */
  readonly report: string
  /** Upper bound of the mutants' numbers. */
  readonly count: number
  /** The number of the first mutant of each mutated file, by the file's absolute path. */
  readonly files: Readonly<Record<string, number>>
  /** Patterns of the test files to run. */
  readonly tests: readonly string[]
  /** The mutants to run each test with; absent in the run that measures the tests. */
  readonly plan?: Readonly<Record<string, Planned>>
  /** A mutant that is active from the start of the process. */
  readonly only?: number
}

export interface Planned {
  readonly mutants: readonly number[]
  /** The largest number of switches that one run of the test may evaluate. A run that exceeds it is an endless loop. */
  readonly limit: number
}

export type Line =
  /** The measurement of one test. */
  | {
      readonly test: string
      readonly file: string
      readonly ms: number
      readonly asked: number
      readonly reached: readonly number[]
    }
  /** The mutants that a test file reaches during its import and setup, outside its tests. */
  | { readonly outside: readonly number[]; readonly file: string }
  /** A test starts to run with a mutant. If no line follows, the mutant made the process hang. */
  | { readonly begins: number; readonly with: string }
  | { readonly kills: string; readonly mutant: number }
  /** A test failed without a mutant, in the measurement or in the last repetition. Its results are ignored. */
  | { readonly fails: string; readonly file: string }

export const orderVariable = "SIGNET_MUTATION_ORDER"
