// What the program that looks for survivors and the process that runs the tests tell each other, in files.

/** What the runner is asked for. */
export interface Order {
  /** Where it writes its lines. */
  readonly report: string
  /** How many mutants there may be. */
  readonly count: number
  /** Absolute path of a file with mutants in it: the number of its first. */
  readonly files: Readonly<Record<string, number>>
  /** Patterns of the test files that may run. */
  readonly tests: readonly string[]
  /** Of each test, the mutants that it is to be run with; absent while the tests are measured. */
  readonly plan?: Readonly<Record<string, Planned>>
  /** The mutant that acts from the start, in a process of its own. */
  readonly only?: number
}

export interface Planned {
  readonly mutants: readonly number[]
  /** How often switches may be asked: more is a loop without an end. */
  readonly limit: number
}

export type Line =
  /** A test as it was measured. */
  | {
      readonly test: string
      readonly file: string
      readonly ms: number
      readonly asked: number
      readonly reached: readonly number[]
    }
  /** What a test file reaches while it is imported, and before its tests. */
  | { readonly outside: readonly number[]; readonly file: string }
  /** A mutant begins with a test. If nothing follows, it has hung the process. */
  | { readonly begins: number; readonly with: string }
  | { readonly kills: string; readonly mutant: number }
  /** A test fails without a mutant: measured, or when it is repeated. What it said is worth nothing. */
  | { readonly fails: string; readonly file: string }

export const orderVariable = "SIGNET_MUTATION_ORDER"
