import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { vectorFiles } from "./files.ts"

test("the committed files are up to date", async () => {
  for (const [name, text] of await vectorFiles()) {
    const committed = readFileSync(join(import.meta.dirname, name), "utf8")
    expect(committed === text, `${name}: run server/guard/vectors/generate.ts and see what changed`).toBe(true)
  }
})
