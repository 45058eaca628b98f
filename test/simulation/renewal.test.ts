import { test } from "vitest"
import { isLong } from "../support/effort.ts"
import { expectSound } from "./sound.ts"

// Each with a seed that found something once, and finds it again with the fault put back.
test.runIf(isLong)("who was let in while it was away until its welcome had ended, asks again", () =>
  expectSound(2, { features: ["renewal"] }),
)

test.runIf(isLong)("who is in by a former credential gets its leaf renewed, whatever else is refused meanwhile", () =>
  expectSound(26, { features: ["renewal"] }),
)
