import { test } from "vitest"
import { expectSound } from "./sound.ts"

test("what was sent in parts, stopped and gone on with is what is read, and no position seals two chunks", () =>
  expectSound(2, { features: ["attachments"] }))
