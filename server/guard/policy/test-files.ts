// Implements `policy test`: reads files, prints results, returns an exit code.
import { methodsOf, readContract } from "./contract.ts"
import type { FindMethod } from "./requirements.ts"
import { type PolicyResult, runPolicyFile } from "./run.ts"
import { PolicyFileError } from "./yaml-reader.ts"

interface PolicyTestOptions {
  readonly files: readonly string[]
  /** Files with FileDescriptorSets, whose RPCs the policy files can name. */
  readonly contracts: readonly string[]
  /** Explain every decision, not only the unexpected ones. */
  readonly explain: boolean
}

/** The environment of the command. */
interface Surroundings {
  /** @throws Error if the file does not exist. */
  readonly read: (path: string) => Uint8Array
  /** Prints a line of the result. */
  readonly print: (line: string) => void
  /** Prints a line about a file that could not be tested. */
  readonly complain: (line: string) => void
}

/** 0: all decisions as expected. 1: some differ. 2: a file is unreadable or invalid. */
export type PolicyExitCode = 0 | 1 | 2

export function testPolicyFiles(options: PolicyTestOptions, { read, print, complain }: Surroundings): PolicyExitCode {
  const contracts = options.contracts.map((path) => attempt(path, () => readContract(read(path)), complain))
  if (contracts.includes(undefined)) return 2
  const findMethod = methodsOf(contracts.filter((contract) => contract !== undefined))
  const done = options.files.map((file) => ({ file, results: resultsOf(file, read, findMethod, complain) }))
  const results = done.flatMap((one) => one.results ?? [])
  for (const { file, results = [] } of done) {
    for (const line of results.flatMap((result) => linesOf(file, result, options.explain))) print(line)
  }
  const failed = results.filter(({ passed }) => !passed).length
  if (results.length > 0) print(`${results.length - failed} as expected, ${failed} not`)
  if (done.some((one) => one.results === undefined)) return 2
  return failed === 0 ? 0 : 1
}

function resultsOf(
  file: string,
  read: Surroundings["read"],
  findMethod: FindMethod,
  complain: Surroundings["complain"],
): readonly PolicyResult[] | undefined {
  return attempt(file, () => runPolicyFile(new TextDecoder().decode(read(file)), findMethod), complain)
}

function attempt<Result>(file: string, run: () => Result, complain: Surroundings["complain"]): Result | undefined {
  try {
    return run()
  } catch (error) {
    const where = error instanceof PolicyFileError ? `${file}:${error.line}:${error.column}` : file
    complain(`${where}: ${error instanceof Error ? error.message : "unreadable"}`)
    return undefined
  }
}

function linesOf(file: string, result: PolicyResult, explain: boolean): readonly string[] {
  const { name, caller, expected, decided, passed, place, explanation } = result
  const why = explain || !passed ? explanation.split("\n").map((line) => `    ${line}`) : []
  if (passed) return [`✓ ${name}: ${caller}: ${decided}`, ...why]
  return [`✗ ${name}: ${caller}: expected ${expected} (${file}:${place.line}:${place.column})`, ...why]
}
