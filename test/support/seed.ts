// Vitest's setup of every file: property tests use the same cases in every run, and a failure prints the seed.
import fc from "fast-check"
import { afterEach } from "vitest"
import { seed } from "./random.ts"

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed })

afterEach(({ task }) => {
  if (task.result?.state === "fail") console.error(`SIGNET_DRAW_SEED=${seed} draws the same again: ${task.name}`)
})
