import { generateKeyPairSync } from "node:crypto"
import { idOf } from "@signet/kernel/ids"
import type { MessagingSession } from "@signet/kernel/messaging/ports"
import type { PushEndpoint } from "@signet/kernel/messaging/push"
import { expect, test } from "vitest"
import { createEdgePushes } from "./pushes.ts"

const key = generateKeyPairSync("ec", { namedCurve: "P-256" })
  .privateKey.export({ type: "pkcs8", format: "der" })
  .toString("base64")
const nowMs = 1_000_000
const endpoint: PushEndpoint = {
  deviceId: idOf("dev", new Uint8Array(16).fill(1)),
  sessionId: idOf("ses", new Uint8Array(16).fill(2)),
  registrationId: new Uint8Array(16),
  kind: "WEB_PUSH",
  url: "https://push.example/a",
  tries: 0,
}
const alive: MessagingSession = { state: "ACTIVE", boundDeviceId: endpoint.deviceId }

/** Pushes with this session, to a service that answers so. @returns The decision, and the requests. */
async function pushed(session: MessagingSession | undefined, answer: () => Promise<Response>, of = endpoint) {
  const requests: { readonly url: string; readonly init: RequestInit | undefined }[] = []
  const pushes = createEdgePushes(
    { hosts: ["push.example"], key, contact: "mailto:a@b.example" },
    {
      policy: { kinds: ["WEB_PUSH"], hosts: ["push.example"], isLoopbackAllowed: false },
      accounts: { findSession: async () => session, activeUsers: async () => [], audit: async () => undefined },
      clock: { nowMs: () => nowMs },
      random: { bytes: (length) => new Uint8Array(length) },
      fetch: async (url, init) => {
        requests.push({ url: String(url), init })
        return answer()
      },
    },
  )
  return { decision: await pushes.push(of), keeps: await pushes.keeps(of), requests }
}

const answering =
  (status: number, headers = {}) =>
  async () =>
    new Response(null, { status, headers })

test("a push follows no redirect, and ends with it", async () => {
  const { decision, keeps, requests } = await pushed(alive, answering(307, { location: "https://inner.example/" }))
  expect([decision, keeps]).toEqual([{ is: "done" }, true])
  expect(requests).toMatchObject([{ url: "https://push.example/a", init: { method: "POST", redirect: "manual" } }])
})

test.each<[string, MessagingSession | undefined]>([
  ["unknown", undefined],
  ["revoked", { ...alive, state: "REVOKED" }],
  ["another device's", { ...alive, boundDeviceId: idOf("dev", new Uint8Array(16).fill(3)) }],
])("an endpoint whose session is %s gets no push and is deleted", async (_, session) => {
  const refused = { decision: { is: "delete" }, keeps: false, requests: [] }
  expect(await pushed(session, answering(201))).toEqual(refused)
})

test.each<[string, Partial<PushEndpoint>]>([
  ["whose host is no longer listed", { url: "https://former.example/a" }],
  ["of a kind that is not enabled", { kind: "WEBHOOK" }],
])("an endpoint %s gets no push and is deleted", async (_, former) => {
  const of = { ...endpoint, ...former }
  const refused = { decision: { is: "delete" }, keeps: false, requests: [] }
  expect(await pushed(alive, answering(201), of)).toEqual(refused)
})

test("a push without an answer, or with a request to wait, is retried", async () => {
  const atMs = nowMs + 60_000
  expect((await pushed(alive, () => Promise.reject(new Error("offline")))).decision).toEqual({ is: "retry", atMs })
  const waiting = await pushed(alive, answering(429, { "retry-after": "120" }))
  expect(waiting.decision).toEqual({ is: "retry", atMs: nowMs + 120_000 })
  expect((await pushed(alive, answering(410))).decision).toEqual({ is: "delete" })
})
