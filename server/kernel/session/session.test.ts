import { expect, test } from "vitest"
import { app, session } from "../testing/records.ts"
import { absoluteExpiry, grantedAudiences, idleExpiry, sessionState } from "./session.ts"

const limits = { ...session, idleExpiresAtMs: 100, absoluteExpiresAtMs: 200 }

test.each([
  ["a session is active before its idle limit", limits, 99, "ACTIVE"],
  ["a session expires at its idle limit", limits, 100, "EXPIRED"],
  ["a session expires at its absolute limit", { ...limits, idleExpiresAtMs: 500 }, 200, "EXPIRED"],
  ["an ended session stays ended after its limits", { ...limits, status: "REVOKED" as const }, 300, "REVOKED"],
])("%s", (_, of, nowMs, state) => {
  expect(sessionState(of, nowMs)).toBe(state)
})

test("the idle limit never exceeds the absolute limit", () => {
  const absoluteExpiresAtMs = absoluteExpiry(app.settings, 0)
  expect(idleExpiry(app.settings, { platform: "WEB", absoluteExpiresAtMs }, 0)).toBe(14 * 86_400_000)
  expect(idleExpiry(app.settings, { platform: "IOS", absoluteExpiresAtMs }, 0)).toBe(30 * 86_400_000)
  expect(idleExpiry(app.settings, { platform: "IOS", absoluteExpiresAtMs }, absoluteExpiresAtMs - 5)).toBe(
    absoluteExpiresAtMs,
  )
})

test.each<[string, string[], string[], readonly string[] | undefined]>([
  ["no audience asked for gives those of the sign-in", [], ["svc-notes"], ["svc-notes"]],
  ["the order asked for is kept", ["svc-notes", "auth"], ["auth"], ["svc-notes", "auth"]],
  ["one that is not registered refuses all", ["svc-notes", "svc-other"], ["auth"], undefined],
  ["the service itself needs no registration", ["auth"], ["svc-notes"], ["auth"]],
  ["none at all gives that of the service itself", [], [], ["auth"]],
  ["one that was taken off the app's list is not granted again", [], ["svc-gone"], undefined],
])("%s", (_, asked, fallback, granted) => {
  expect(grantedAudiences(asked, app.audiences, fallback, "auth")).toEqual(granted)
})
