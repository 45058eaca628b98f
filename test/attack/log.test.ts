import { expect, test } from "vitest"
import { createLog } from "../../server/node/log.ts"

test("the message of a fault is not logged as part of its stack trace", () => {
  const lines: string[] = []
  const log = createLog("info", (line) => lines.push(line))
  const fault = new Error('bad input: "\n    at sgrt_secret (/of/a/person:1:1)\n"', {
    cause: new TypeError("x\n    at sgrt_secret"),
  })
  log.error({ err: fault }, "fault")
  log.error(fault, "fault")
  expect(lines.length).toBe(2)
  for (const line of lines) {
    expect(line).not.toContain("sgrt_secret")
    expect(line).toContain("log.test.ts")
  }
})
