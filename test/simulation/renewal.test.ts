import { test } from "vitest"
import { isLong } from "../support/effort.ts"
import { expectSound } from "./sound.ts"

// Each with a seed that found something once, and finds it again with the fault put back.
test.runIf(isLong)("a device whose welcome expired while it was offline requests to rejoin", () =>
  expectSound(2, { features: ["renewal"] }),
)

test.runIf(isLong)("a member with a former credential renews its leaf, whatever the service refuses meanwhile", () =>
  expectSound(26, { features: ["renewal"] }),
)
