import { test } from "vitest"
import { expectSound } from "./sound.ts"

test("a file whose upload was interrupted and continued is read unchanged, and no position seals two chunks", () =>
  expectSound(2, { features: ["attachments"] }))
