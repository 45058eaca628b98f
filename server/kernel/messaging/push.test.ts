import { describe, expect, test } from "vitest"
import { decidePushed, isPushAddress, isPushHost, type PushDecision, type PushPolicy, pushDueAt } from "./push.ts"

const policy: PushPolicy = {
  kinds: ["WEB_PUSH"],
  hosts: ["fcm.googleapis.com", "*.push.example"],
  isLoopbackAllowed: false,
}

test.each([
  "https://fcm.googleapis.com/fcm/send/abc:def",
  "https://fcm.googleapis.com:443/fcm",
  "https://eu.push.example/v1",
  "https://a.b.push.example/v1?id=1",
])("%s is accepted", (url) => {
  expect(isPushAddress(url, policy)).toBe(true)
})

test.each([
  ["without TLS", "http://fcm.googleapis.com/a"],
  ["on another port", "https://fcm.googleapis.com:8443/a"],
  ["on the port of SSH", "https://fcm.googleapis.com:22/a"],
  ["of a host that is not listed", "https://evil.example/a"],
  ["of the parent of a listed domain", "https://push.example/a"],
  ["of a name that ends like a listed one", "https://evilpush.example/a"],
  ["of a listed name inside another", "https://fcm.googleapis.com.evil.example/a"],
  ["with a listed name as its user", "https://fcm.googleapis.com@evil.example/a"],
  ["with a listed name in its path", "https://evil.example/fcm.googleapis.com"],
  ["with a backslash", "https://evil.example\\.push.example/a"],
  ["with a fragment", "https://fcm.googleapis.com/#a"],
  ["with a user", "https://user@fcm.googleapis.com/a"],
  ["of an address", "https://10.0.0.1/a"],
  ["of loopback", "https://127.0.0.1/a"],
  ["of IPv6 loopback", "https://[::1]/a"],
  ["of a metadata address", "https://169.254.169.254/latest"],
  ["of a name with a trailing dot", "https://fcm.googleapis.com./a"],
  ["in upper case", "https://FCM.googleapis.com/a"],
  ["with a line end", "https://fcm.googleapis.com/a\r\nhost: x"],
  ["of another scheme", "ftp://fcm.googleapis.com/a"],
  ["without a host", "https:///a"],
])("an endpoint %s is refused", (_, url) => {
  expect(isPushAddress(url, policy)).toBe(false)
  expect(isPushAddress(url, { ...policy, isLoopbackAllowed: true })).toBe(false)
})

test("loopback is accepted in development, and only if the operator lists it", () => {
  const url = "http://127.0.0.1:8080/push"
  const listed = { ...policy, hosts: ["127.0.0.1"] }
  expect(isPushAddress(url, { ...listed, isLoopbackAllowed: true })).toBe(true)
  expect(isPushAddress(url, listed)).toBe(false)
  expect(isPushAddress(url, { ...policy, isLoopbackAllowed: true })).toBe(false)
})

test.each<[string, boolean]>([
  ["fcm.googleapis.com", true],
  ["*.push.apple.com", true],
  ["*", false],
  ["*.com", false],
  ["*.internal", false],
  ["10.0.0.1", false],
  ["localhost", false],
  ["*.127.0.0.1", false],
  ["https://push.example", false],
  ["push.example:8443", false],
  ["", false],
])("%j in the operator's list: %j", (text, expected) => {
  expect(isPushHost(text, false)).toBe(expected)
})

test("loopback may be listed in development", () => {
  expect([isPushHost("127.0.0.1", true), isPushHost("*.localhost", true)]).toEqual([true, false])
})

test.each<[string, number, number, number]>([
  ["a first push is due within 2 seconds", 0, 0.999, 11_998],
  ["without jitter it is due now", 0, 0, 10_000],
  ["a second push waits for the end of the interval, and for its own delay", 14_000, 0.5, 15_000],
])("%s", (_, notBeforeMs, random, expected) => {
  expect(pushDueAt(notBeforeMs, 10_000, random)).toBe(expected)
})

describe("an answer of a push service", () => {
  const nowMs = Date.UTC(2026, 0, 1)
  test.each<[string, number, { status: number; retryAfter?: string } | undefined, PushDecision]>([
    ["201 ends the push", 0, { status: 201 }, { is: "done" }],
    ["404 deletes the endpoint", 0, { status: 404 }, { is: "delete" }],
    ["410 deletes the endpoint", 2, { status: 410 }, { is: "delete" }],
    ["a refused signature ends the push and deletes nothing", 0, { status: 403 }, { is: "done" }],
    ["a redirect ends the push", 0, { status: 302 }, { is: "done" }],
    ["429 waits as asked", 0, { status: 429, retryAfter: "120" }, { is: "retry", atMs: nowMs + 120_000 }],
    [
      "429 with a date waits until then",
      0,
      { status: 429, retryAfter: "Thu, 01 Jan 2026 00:02:00 GMT" },
      { is: "retry", atMs: nowMs + 120_000 },
    ],
    [
      "429 with an endless wait is retried in an hour",
      0,
      { status: 429, retryAfter: "999999999" },
      { is: "retry", atMs: nowMs + 3_600_000 },
    ],
    [
      "429 with another text waits a minute",
      0,
      { status: 429, retryAfter: "soon" },
      { is: "retry", atMs: nowMs + 60_000 },
    ],
    ["500 is retried after a minute", 1, { status: 500 }, { is: "retry", atMs: nowMs + 60_000 }],
    [
      "503 with a short wait is retried after a minute",
      1,
      { status: 503, retryAfter: "1" },
      { is: "retry", atMs: nowMs + 60_000 },
    ],
    ["no answer is retried", 0, undefined, { is: "retry", atMs: nowMs + 60_000 }],
    ["the third failure ends the push", 2, { status: 500 }, { is: "done" }],
  ])("%s", (_, tries, answer, expected) => {
    expect(
      decidePushed(tries, answer && { status: answer.status, retryAfter: answer.retryAfter ?? null }, nowMs, 0),
    ).toEqual(expected)
  })

  test("a retry has a delay of its own", () => {
    const answer = { status: 429, retryAfter: "120" }
    expect(decidePushed(0, answer, nowMs, 0.5)).toEqual({ is: "retry", atMs: nowMs + 121_000 })
  })
})
