import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { expect, test } from "vitest"
import { mutants } from "./all.ts"

const root = resolve(import.meta.dirname, "../..")
const read = (path: string) => readFile(resolve(root, path), "utf8")

// `node test/mutants/run.ts` shows that the named test kills the mutant. This test only checks that the list is up to
// date.
test.each(mutants.map((mutant) => [mutant.fault, mutant] as const))("mutant: %s", async (_, mutant) => {
  expect((await read(mutant.file)).split(mutant.from)).toHaveLength(2)
  const words = (mutant.row ?? mutant.name).replace(
    /^a (path|tree) |^E13: a key package that is | is (refused|checked by joiners)$/g,
    "",
  )
  expect(await read(mutant.table ?? mutant.test)).toContain(words)
})

test("the name of a mutant fits the title of its table's rows", () => {
  const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
  const stale = mutants.filter(({ name, row }) => {
    const parts = row?.split(/%[sdij]/) ?? []
    return parts.length > 1 && !new RegExp(parts.map(escaped).join(".*")).test(name)
  })
  expect(stale.map(({ name }) => name)).toEqual([])
})

test("there are at least twelve mutants", () => {
  expect(mutants.length).toBeGreaterThanOrEqual(12)
})
