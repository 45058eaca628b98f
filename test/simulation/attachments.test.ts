import { test } from "vitest"
import { isLong } from "../support/effort.ts"
import { expectSound } from "./sound.ts"

test.runIf(isLong)(
  "a file whose upload was interrupted and continued is read unchanged, and no position seals two chunks",
  () => expectSound(2, { features: ["attachments"] }),
)
