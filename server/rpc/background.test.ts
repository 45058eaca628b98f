import { expect, test } from "vitest"
import { createBackground } from "./background.ts"

test("background work continues after the call, settled() waits for it, and its failures are logged", async () => {
  const faults: unknown[] = []
  const background = createBackground((fault) => faults.push(fault))
  let finish: () => void = () => {}
  let isDone = false
  background.run(() => new Promise<void>((resolve) => (finish = resolve)).then(() => (isDone = true)))
  background.run(async () => {
    throw new Error("no")
  })
  expect(isDone).toBe(false)
  setImmediate(finish)
  await background.settled()
  expect(isDone).toBe(true)
  expect(faults).toEqual([new Error("no")])
  await background.settled()
})
