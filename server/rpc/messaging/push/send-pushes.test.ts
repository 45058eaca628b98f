import { idOf } from "@signet/kernel/ids"
import type { MessagingAccounts } from "@signet/kernel/messaging/ports"
import type { PushEndpoint } from "@signet/kernel/messaging/push"
import { expect, test } from "vitest"
import { createPushSender } from "./send-pushes.ts"

const deviceId = idOf("dev", new Uint8Array(16).fill(1))
const endpointAt = (url: string): PushEndpoint => ({
  deviceId,
  sessionId: idOf("ses", new Uint8Array(16).fill(2)),
  registrationId: new Uint8Array(16),
  kind: "WEBHOOK",
  url,
  tries: 0,
})
const slow = "https://slow.example/a"
const fast = "https://fast.example/a"

/** A sender of these due pushes. The slow host answers when it is released. */
function senderOf(urls: readonly string[], findSession?: MessagingAccounts["findSession"]) {
  const due = urls.map(endpointAt)
  const sent: string[] = []
  const faults: unknown[] = []
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const accounts: MessagingAccounts = {
    findSession: findSession ?? (async () => ({ state: "ACTIVE", boundDeviceId: deviceId })),
    activeUsers: async () => [],
    audit: async () => undefined,
  }
  const nothing = async () => undefined
  const sender = createPushSender(
    { accounts, clock: { nowMs: () => 0 }, random: { bytes: (length) => new Uint8Array(length) } },
    {
      pushes: { policy: { kinds: ["WEBHOOK"], hosts: ["slow.example", "fast.example"], isLoopbackAllowed: false } },
      due: {
        set: nothing,
        delete: nothing,
        schedule: nothing,
        deleteAll: nothing,
        pushed: nothing,
        takeDue: async (_, limit) => due.splice(0, limit),
      },
      async send({ url }) {
        sent.push(url)
        if (url === slow) await released
        return { status: 201, retryAfter: null }
      },
    },
    (fault) => faults.push(fault),
  )
  return { sender, due, sent, faults, release }
}

test("a host that does not answer delays no push to another", async () => {
  const { sender, sent, release } = senderOf([...Array.from({ length: 40 }, () => slow), fast])
  await sender.begin()
  await expect.poll(() => sent).toContain(fast)
  release()
  await sender.idle()
  expect(sent).toHaveLength(41)
})

test("at most 100 pushes wait for an answer", async () => {
  const { sender, due, sent, release } = senderOf(Array.from({ length: 130 }, () => slow))
  await sender.begin()
  await sender.begin()
  await expect.poll(() => sent.length).toBe(100)
  expect(due).toHaveLength(30)
  release()
  await sender.idle()
  await sender.begin()
  await sender.idle()
  expect(sent).toHaveLength(130)
})

test("a failure of the auth service is reported, and ends one push only", async () => {
  let asked = 0
  const down = new Error("the auth service is down")
  const { sender, sent, faults } = senderOf([fast, fast, fast], async () => {
    if (asked++ === 1) throw down
    return { state: "ACTIVE", boundDeviceId: deviceId }
  })
  await sender.begin()
  await sender.idle()
  expect([sent.length, faults]).toEqual([2, [down]])
})
