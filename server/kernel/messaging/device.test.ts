import { describe, expect, test } from "vitest"
import { decideRegister, decideRenew, listEntries, nextList, proofKeys } from "./device.ts"
import type { MessagingDevice } from "./records.ts"
import { bytes, device, messagingDevice, nowMs, place, user } from "./testing/records.ts"

const registrant = { ...place, userId: user(1), boundDeviceId: null }
const many = Array.from({ length: 16 }, (_, i) => messagingDevice(100 + i))
const revoked = messagingDevice(10, { status: "REVOKED" })

describe("registering", () => {
  test.each<[string, ReturnType<typeof decideRegister>, object]>([
    ["makes a device", decideRegister(registrant, undefined, []), { is: "register", revoke: null }],
    [
      "again binds to it",
      decideRegister(registrant, messagingDevice(10), [messagingDevice(10)]),
      { is: "bind", revoke: null },
    ],
    [
      "in place of the session's former one revokes that",
      decideRegister({ ...registrant, boundDeviceId: device(11) }, undefined, [messagingDevice(11)]),
      { is: "register", revoke: device(11) },
    ],
    [
      "again from its own session revokes nothing",
      decideRegister({ ...registrant, boundDeviceId: device(10) }, messagingDevice(10), [messagingDevice(10)]),
      { is: "bind", revoke: null },
    ],
    [
      "a revoked device's key is refused",
      decideRegister(registrant, revoked, [revoked]),
      { reason: "DEVICE_KEY_TAKEN" },
    ],
    ["another's key is refused", decideRegister(registrant, messagingDevice(20), []), { reason: "DEVICE_KEY_TAKEN" }],
    [
      "one's own key of another tenant is refused",
      decideRegister(registrant, messagingDevice(10, { tenantId: "ten_x" } as object), []),
      { reason: "DEVICE_KEY_TAKEN" },
    ],
    [
      "one's own key of another app is refused",
      decideRegister(registrant, messagingDevice(10, { appId: "app_x" } as object), []),
      { reason: "DEVICE_KEY_TAKEN" },
    ],
    [
      "again from the session of another device revokes that one",
      decideRegister({ ...registrant, boundDeviceId: device(11) }, messagingDevice(10), [
        messagingDevice(10),
        messagingDevice(11),
      ]),
      { is: "bind", revoke: device(11) },
    ],
    ["a seventeenth is refused", decideRegister(registrant, undefined, many), { reason: "LIMIT_EXCEEDED" }],
    [
      "a seventeenth in place of a former one is not",
      decideRegister({ ...registrant, boundDeviceId: many[0]?.id ?? null }, undefined, many),
      { is: "register", revoke: many[0]?.id },
    ],
  ])("%s", (_, decision, expected) => {
    expect(decision).toMatchObject(expected)
  })
})

test.each<[string, Partial<MessagingDevice>, number, MessagingDevice | undefined, string]>([
  ["a new key", {}, 99, undefined, "renew"],
  ["the key it has", {}, 10, messagingDevice(10), "renew"],
  ["the key it just got", { changedAtMs: nowMs - 1 }, 10, messagingDevice(10), "again"],
  ["a key it gave up", {}, 98, messagingDevice(10), "DEVICE_KEY_TAKEN"],
  ["another's key", {}, 20, messagingDevice(20), "DEVICE_KEY_TAKEN"],
  ["a revoked device's", { status: "REVOKED" }, 99, undefined, "DEVICE_REVOKED"],
])("renewing with %s", (_, change, key, holder, expected) => {
  expect(decideRenew(messagingDevice(10, change), bytes(key), holder, nowMs)).toBe(expected)
})

test("proofs verify with the current and the unexpired previous key, never for a revoked device", () => {
  const renewed = messagingDevice(10, { previousKey: { leafKey: bytes(9), expiresAtMs: nowMs + 1 } })
  expect(proofKeys(renewed, nowMs)).toEqual([bytes(10), bytes(9)])
  expect(proofKeys(renewed, nowMs + 1)).toEqual([bytes(10)])
  expect(proofKeys({ ...renewed, status: "REVOKED" }, nowMs)).toEqual([])
})

test("a list names its predecessor, all active devices, and the newest revoked ones", () => {
  expect(nextList(undefined)).toEqual({ version: 1n, previousHash: null })
  expect(nextList({ version: 4n, bytes: bytes(1), hash: bytes(2) })).toEqual({ version: 5n, previousHash: bytes(2) })
  const old = Array.from({ length: 300 }, (_, i) => messagingDevice(i % 200, { status: "REVOKED", changedAtMs: i }))
  const entries = listEntries([...old, messagingDevice(1)])
  expect(entries).toHaveLength(256)
  expect(entries[0]?.status).toBe("ACTIVE")
  expect(entries.at(-1)?.changedAtMs).toBe(45)
})
