import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { mutants } from "./all.ts"

const root = resolve(import.meta.dirname, "../..")
const mutant = mutants[Number(process.env.SIGNET_MUTANT)]

/** The file that the chosen mutant is of; undefined for none. */
export const mutatedFile = mutant && resolve(root, mutant.file)

/** The code of that file, with the fault in it. */
export function mutated(code = readFileSync(mutatedFile ?? "", "utf8")): string {
  return mutant === undefined ? code : code.replace(mutant.from, () => mutant.to)
}
