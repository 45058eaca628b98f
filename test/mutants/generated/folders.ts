import { globSync, readFileSync } from "node:fs"
import { resolve } from "node:path"
import { type GeneratedMutant, generate } from "./generate.ts"

export const root = resolve(import.meta.dirname, "../../..")

/** The folders whose rules are checked with generated mutants, by the tests of the same folders. */
export const folders = ["server/kernel", "server/guard", "proto/canonical", "server/framing"] as const

/** Tests in other folders that hold rules of the four: what calls a rule is tested with it. */
export const furtherTests: readonly string[] = [
  "server/providers/*.test.ts",
  "server/keys/*.test.ts",
  "server/node/admin/sealing-keys.test.ts",
  "server/store/postgres/audit-*.test.ts",
]

/** Tests, and files that only tests, vectors and the policy tool use. */
const isLeftOut = /\.test\.ts$|\/(testing|vectors|policy)\/|\/node\/policy\.ts$/

/** Lists the files of the four folders that mutants are generated for, from the root of the repository. */
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

/** A file has fewer mutants than this. */
const mostOfFile = 1_000

export interface Numbered {
  readonly mutants: readonly NumberedMutant[]
  /** The number of the first mutant of each file, by absolute path. */
  readonly firsts: Readonly<Record<string, number>>
  /** All numbers are below this. */
  readonly count: number
}

/** Numbers the mutants of files. */
export function numbered(files: readonly string[]): Numbered {
  const mutants = files.flatMap((file, index) =>
    generate(readSource(file)).mutants.map((mutant, n) => ({ ...mutant, file, number: index * mostOfFile + n })),
  )
  const firsts = Object.fromEntries(files.map((file, index) => [resolve(root, file), index * mostOfFile]))
  return { mutants, firsts, count: files.length * mostOfFile }
}
