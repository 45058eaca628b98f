import { globSync, readFileSync } from "node:fs"
import { resolve } from "node:path"
import { type GeneratedMutant, generate } from "./generate.ts"

export const root = resolve(import.meta.dirname, "../../..")

/** The folders that get generated mutants. The tests in these folders run with them. */
export const folders = ["server/kernel", "server/guard", "proto/canonical", "server/framing"] as const

/** Tests in other folders that also run with the mutants, because they test rules in the four folders. */
export const furtherTests: readonly string[] = [
  "server/providers/*.test.ts",
  "server/keys/*.test.ts",
  "server/node/admin/seal*.test.ts",
  "server/store/postgres/audit-*.test.ts",
]

/** Matches tests, and files that only tests, vectors and the policy tool use. */
export const isLeftOut = /\.test\.ts$|\/(testing|vectors|policy)\/|\/node\/policy\.ts$/

/** Lists the files in the four folders that get generated mutants, as paths from the root of the repository. */
export function mutatedFiles(): readonly string[] {
  return folders
    .flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }))
    .filter((path) => !isLeftOut.test(path))
    .toSorted()
}

export const readSource = (file: string): string => readFileSync(resolve(root, file), "utf8")

export interface NumberedMutant extends GeneratedMutant {
  readonly number: number
  readonly file: string
}

/** Upper bound of the mutants of one file. */
const maxOfFile = 1_000

interface Numbered {
  readonly mutants: readonly NumberedMutant[]
  /** The number of the first mutant of each file, by the file's absolute path. */
  readonly firsts: Readonly<Record<string, number>>
  /** All numbers are below this bound. */
  readonly count: number
}

/** Generates the mutants of files and numbers them. */
export function numbered(files: readonly string[]): Numbered {
  const mutants = files.flatMap((file, index) =>
    generate(readSource(file)).mutants.map((mutant, n) => ({ ...mutant, file, number: index * maxOfFile + n })),
  )
  const firsts = Object.fromEntries(files.map((file, index) => [resolve(root, file), index * maxOfFile]))
  return { mutants, firsts, count: files.length * maxOfFile }
}
