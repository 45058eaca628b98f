import { expect, test } from "vitest"
import { usualArgon2, wrongArgon2Parameter } from "./passphrase-key.ts"

test.each<[object, string | undefined]>([
  [{}, undefined],
  [{ memoryKiB: 19_456, passes: 2, lanes: 4 }, undefined],
  [{ memoryKiB: 19_455 }, "memoryKiB"],
  [{ memoryKiB: 1_048_577 }, "memoryKiB"],
  [{ memoryKiB: "65536" }, "memoryKiB"],
  [{ memoryKiB: [65_536] }, "memoryKiB"],
  [{ passes: 1 }, "passes"],
  [{ passes: 2.5 }, "passes"],
  [{ passes: "3" }, "passes"],
  [{ lanes: 0 }, "lanes"],
  [{ lanes: true }, "lanes"],
  [{ lanes: undefined }, "lanes"],
])("with %j the wrong parameter is %j", (change, wrong) => {
  expect(wrongArgon2Parameter({ ...usualArgon2, ...change })).toBe(wrong)
})
