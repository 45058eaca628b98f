import { expect, test } from "vitest"
import { createTurns } from "./turns.ts"

test("work of one key runs in turn, also after a failure; other keys do not wait", async () => {
  const turns = createTurns()
  const done: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = turns("a", async () => {
    await gate.promise
    done.push("first")
    throw new Error("first")
  })
  const second = turns("a", async () => void done.push("second"))
  await turns("b", async () => void done.push("other"))
  gate.resolve()
  await expect(first).rejects.toThrow("first")
  await second
  expect(done).toEqual(["other", "first", "second"])
  expect(await turns("a", async () => "again")).toBe("again")
})
