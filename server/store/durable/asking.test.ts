import { expect, test } from "vitest"
import { ask } from "./asking.ts"

const fault = (marks: object) => Object.assign(new Error("gone"), marks)

/** An object that answers after these faults. */
function object(faults: readonly unknown[]) {
  const left = [...faults]
  const calls = { count: 0 }
  return {
    calls,
    async call() {
      calls.count++
      if (left.length > 0) throw left.shift()
      return "answer"
    },
  }
}

test.each<[string, object]>([
  ["went away", { retryable: true }],
  ["was reset", { durableObjectReset: true }],
])("an object that %s is asked again, three times in all", async (_, marks) => {
  const once = object([fault(marks), fault(marks)])
  expect(await ask(() => once.call())).toBe("answer")
  const never = object([fault(marks), fault(marks), fault(marks)])
  await expect(ask(() => never.call())).rejects.toMatchObject({ reason: "UNAVAILABLE" })
  expect(never.calls.count).toBe(3)
})

test("a call to an overloaded object is not retried", async () => {
  const busy = object([fault({ retryable: true, overloaded: true })])
  await expect(ask(() => busy.call())).rejects.toMatchObject({ reason: "UNAVAILABLE" })
  expect(busy.calls.count).toBe(1)
})

test("an object's own error is thrown without a retry", async () => {
  const own = fault({ remote: true })
  const faulty = object([own])
  await expect(ask(() => faulty.call())).rejects.toBe(own)
  expect(faulty.calls.count).toBe(1)
})
