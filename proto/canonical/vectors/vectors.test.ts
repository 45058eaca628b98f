import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { buildVectors } from "./build.ts"
import { fileText } from "./text.ts"

const built = buildVectors()

test("the vector files are exactly the generated ones", () => {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".json"))
  expect(files.sort()).toEqual(
    Object.keys(built)
      .map((name) => `${name}.json`)
      .sort(),
  )
})

test.each(Object.keys(built))("%s.json is up to date", (name) => {
  const committed = readFileSync(join(import.meta.dirname, `${name}.json`), "utf8")
  expect(committed === fileText(built[name]), `run proto/canonical/vectors/generate.ts and see what changed`).toBe(true)
})
