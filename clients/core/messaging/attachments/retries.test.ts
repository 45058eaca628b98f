import { Code, ConnectError } from "@connectrpc/connect"
import { expect, test } from "vitest"
import { SignetError } from "../../errors.ts"
import { testClock } from "../../testing/memory-platform.ts"
import { longestAskedMs } from "../conversation/backoff.ts"
import { withRetries } from "./retries.ts"

const random = { bytes: (length: number) => new Uint8Array(length) }
const unreachable = new ConnectError("down", Code.Unavailable)
const limited = (retryAfterMs: number | undefined) => new SignetError("RATE_LIMITED", "slower", { retryAfterMs })

/** Makes a call that fails with each of these errors in turn, and then succeeds. */
async function call(failures: readonly unknown[], signal?: AbortSignal) {
  const clock = testClock()
  const left = [...failures]
  let tries = 0
  const done = withRetries({ clock, random }, signal, async () => {
    tries++
    const failure = left.shift()
    if (failure !== undefined) throw failure
    return "answer"
  }).catch((error: unknown) => error)
  await clock.pass(10 * 60_000)
  return { tries, done: await done }
}

test("a call is retried after a network failure, up to three attempts", async () => {
  expect(await call([])).toEqual({ tries: 1, done: "answer" })
  expect(await call([unreachable, unreachable])).toEqual({ tries: 3, done: "answer" })
  const given = await call([unreachable, unreachable, unreachable, unreachable])
  expect(given).toMatchObject({ tries: 3, done: { reason: "ATTACHMENT_INTERRUPTED" } })
})

test("a rate-limited call waits for retry_after, up to a limit", async () => {
  expect(await call([limited(1_000)])).toEqual({ tries: 2, done: "answer" })
  expect(await call([limited(longestAskedMs)])).toEqual({ tries: 2, done: "answer" })
  const long = await call([limited(longestAskedMs + 1)])
  expect(long).toMatchObject({ tries: 1, done: { reason: "ATTACHMENT_INTERRUPTED" } })
})

test.each<[string, unknown, object]>([
  ["a missing attachment", new SignetError("RESOURCE_UNRESOLVED", "gone"), { reason: "ATTACHMENT_GONE" }],
  ["another refusal", new SignetError("INVALID_FIELD", "no"), { reason: "INVALID_FIELD" }],
  ["a limit without a time", limited(undefined), { reason: "RATE_LIMITED" }],
  ["a fault of the program", new TypeError("bug"), { message: "bug" }],
])("%s is not retried", async (_, failure, told) => {
  expect(await call([failure])).toMatchObject({ tries: 1, done: told })
})

test("an aborted signal rejects the call, before and after its request", async () => {
  const off = new Error("off")
  expect(await call([], AbortSignal.abort(off))).toEqual({ tries: 0, done: off })
  const controller = new AbortController()
  const clock = testClock()
  const done = withRetries({ clock, random }, controller.signal, async () => {
    controller.abort(off)
    throw new SignetError("RESOURCE_UNRESOLVED", "gone")
  })
  await expect(done).rejects.toBe(off)
})
