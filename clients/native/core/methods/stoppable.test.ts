import { expect, test } from "vitest"
import { createStoppable } from "./stoppable.ts"

test("a second call is refused while one runs, and waits for one that was stopped", async () => {
  const stoppable = createStoppable("StopHistory")
  const steps: string[] = []
  const end = Promise.withResolvers<void>()
  const first = stoppable.run(async () => {
    await end.promise
    steps.push("first ended")
  })
  await expect(stoppable.run(async () => undefined)).rejects.toThrow("the call runs already: call StopHistory before")
  stoppable.stop()
  const second = stoppable.run(async (signal) => steps.push(`second runs, aborted: ${signal.aborted}`))
  const third = stoppable.run(async () => steps.push("third"))
  end.resolve()
  await expect(first).resolves.toBeUndefined()
  await second
  await expect(third).rejects.toThrow("the call runs already")
  expect(steps).toEqual(["first ended", "second runs, aborted: false"])
})

test("a call that fails leaves the place to the next one", async () => {
  const stoppable = createStoppable("StopHistory")
  await expect(
    stoppable.run(async () => {
      throw new Error("planted")
    }),
  ).rejects.toThrow("planted")
  expect(await stoppable.run(async () => 1)).toBe(1)
})
