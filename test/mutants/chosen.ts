import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { mutants } from "./all.ts"

const root = resolve(import.meta.dirname, "../..")
const mutant = mutants[Number(process.env.SIGNET_MUTANT)]

/** Absolute path of the file that the chosen mutant changes; undefined if no mutant is chosen. */
export const mutatedFile = mutant && resolve(root, mutant.file)

/** Returns the code of that file with the mutant in it. */
export function mutated(code = readFileSync(mutatedFile ?? "", "utf8")): string {
  return mutant === undefined ? code : code.replace(mutant.from, () => mutant.to)
}
