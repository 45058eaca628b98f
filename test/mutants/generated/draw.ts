import { createHash } from "node:crypto"
import { globSync } from "node:fs"
import { folders, isLeftOut, readSource, root } from "./folders.ts"
import { type GeneratedMutant, generate } from "./generate.ts"

/** The folders from which a draw takes its conditions: handlers, verifiers, rules, caches and the clients' checks. */
const drawnFolders = [
  ...folders,
  ...["server/rpc", "server/serving", "server/keys", "server/providers", "clients/core", "clients/node"],
]

/** The suites whose tests run with a drawn mutant, in their short form. */
export const suites: Readonly<Record<string, readonly string[]>> = {
  units: ["{server,proto}/**/*.test.ts", "clients/{core,node}/**/*.test.ts"],
  stories: ["test/story/*.test.ts"],
  attacks: ["test/attack/*.test.ts"],
  conformance: ["test/{conformance,differential,interop}/*.test.ts"],
  simulation: ["test/simulation/*.test.ts"],
}

/** A draw of sixty conditions succeeds with at most this number of survivors without a reason. */
export const maxSurvivors = 2

interface DrawnMutant extends GeneratedMutant {
  readonly file: string
}

/** True if the mutant replaces a condition, or an operand of one, by a constant. */
const replacesCondition = ({ change }: GeneratedMutant) => /→ (true|false)$/.test(change)

let listed: readonly DrawnMutant[] | undefined

function mutantsOfConditions(): readonly DrawnMutant[] {
  listed ??= drawnFolders
    .flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: root }))
    .filter((file) => !isLeftOut.test(file))
    .flatMap((file) => generate(readSource(file)).mutants.map((mutant) => ({ ...mutant, file })))
    .filter(replacesCondition)
  return listed
}

/**
 * Draws mutants of conditions. A mutant's place is the hash of the seed and its text, so an equal seed draws the same
 * mutants again, and a change of one file moves only that file's mutants.
 */
export function draw(count: number, seed: number): readonly DrawnMutant[] {
  const placeOf = ({ file, line, change }: DrawnMutant) =>
    createHash("sha256").update(`${seed} ${file}:${line} ${change}`).digest("hex")
  return mutantsOfConditions()
    .map((mutant) => ({ mutant, place: placeOf(mutant) }))
    .toSorted((a, b) => (a.place < b.place ? -1 : 1))
    .slice(0, count)
    .map(({ mutant }) => mutant)
}

/**
 * Returns the mutants of conditions that a list names, for a round that somebody chose by reading.
 *
 * @param list A line for each mutant: its file, a colon, its line, a tab, its change.
 */
export function named(list: string): readonly DrawnMutant[] {
  const wanted = new Set(list.split("\n").filter(Boolean))
  const found = mutantsOfConditions().filter(({ file, line, change }) => wanted.delete(`${file}:${line}\t${change}`))
  if (wanted.size > 0) throw new Error(`no mutant has these names: ${[...wanted].join(", ")}`)
  return found
}

/** Returns the test whether a mutant was drawn. */
export function isAmong(drawn: readonly DrawnMutant[]): (mutant: DrawnMutant) => boolean {
  const nameOf = ({ file, line, change }: DrawnMutant) => `${file}:${line} ${change}`
  const names = new Set(drawn.map(nameOf))
  return (mutant) => names.has(nameOf(mutant))
}
