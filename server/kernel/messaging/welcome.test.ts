import { expect, test } from "vitest"
import type { WelcomeRecord } from "./records.ts"
import { bytes, device, nowMs, welcome } from "./testing/records.ts"
import { decideConsume } from "./welcome.ts"

const consumed: WelcomeRecord = { ...welcome, status: "CONSUMED", consumedWithKey: bytes(1, 16) }

test.each<[string, WelcomeRecord | undefined, number, string]>([
  ["is consumed by its device", welcome, 20, "consume"],
  ["is not there for another device", welcome, 21, "NOT_FOUND"],
  ["is not there for another device when it was consumed", consumed, 21, "NOT_FOUND"],
  ["that is none is not there", undefined, 20, "NOT_FOUND"],
  ["that is void is not there", { ...welcome, status: "VOID" }, 20, "NOT_FOUND"],
  ["that has expired is not there", { ...welcome, expiresAtMs: nowMs }, 20, "NOT_FOUND"],
  ["is consumed again by its key", consumed, 20, "again"],
  ["that was consumed is consumed still when it has expired", { ...consumed, expiresAtMs: 1 }, 20, "again"],
  ["is not consumed by another key", { ...consumed, consumedWithKey: bytes(2, 16) }, 20, "WELCOME_ALREADY_CONSUMED"],
])("a welcome %s", (_, record, by, expected) => {
  expect(decideConsume(record, { deviceId: device(by), key: bytes(1, 16) }, nowMs)).toBe(expected)
})
