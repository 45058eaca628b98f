import { rmSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { expect, test } from "vitest"
import { isLong } from "../../test/support/effort.ts"
import { buildCore } from "./build.ts"

test("the core and its engine have at most 560 KB compressed", async () => {
  const { wasm, bytecode } = await buildCore()
  const size = [wasm, bytecode].reduce((sum, bytes) => sum + gzipSync(bytes, { level: 9 }).length, 0)
  expect(size).toBeLessThanOrEqual(560_000)
  // A bundle without the messenger would be small, too.
  expect(size).toBeGreaterThan(400_000)
})

test.runIf(isLong)("equal inputs give equal bytes", async () => {
  const before = await buildCore()
  rmSync(join(import.meta.dirname, "../../dist/native/inputs.sha256"))
  expect(Buffer.compare((await buildCore()).bytecode, before.bytecode)).toBe(0)
})
