// Vitest's setup of every file: its effort, and the same cases of property tests in every run. A failure prints the seed.
import fc from "fast-check"
import { afterEach } from "vitest"
import { chooseEffort } from "./effort.ts"
import { seed } from "./random.ts"

chooseEffort(Date.now())

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed })

afterEach(({ task }) => {
  if (task.result?.state === "fail") console.error(`SIGNET_DRAW_SEED=${seed} draws the same again: ${task.name}`)
})
