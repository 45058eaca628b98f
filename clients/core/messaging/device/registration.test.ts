// A device registers and renews over a service that answers as each test says.
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect"
import { issueDeviceCredential } from "@signet/canonical/device-credential"
import { verifyDeviceRequest } from "@signet/canonical/device-request"
import { verifyEd25519 } from "@signet/canonical/ed25519"
import { StorageClass } from "@signet/proto/credential/v1/device_request"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { DeviceService, type RegisterDeviceResponse } from "@signet/proto/messaging/v1/device_service"
import { expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { hex } from "../crypto/bytes.ts"
import { idOf } from "../ids.ts"
import { openMemoryStore } from "../store/memory.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import { testBox } from "../testing/test-box.ts"
import { openDevice } from "./device.ts"
import type { Enrollment } from "./registration.ts"

const { tenantId, appId, alice, phone, now, issuerUrl, issuerId } = world

interface Service {
  /** The first calls to a method are refused with these errors. */
  readonly refusals?: ConnectError[]
  /** Answers a registration instead of the credential for its key. */
  readonly answer?: Partial<Pick<RegisterDeviceResponse, "device">>
  readonly tenant?: Uint8Array | undefined
}

/** @returns Tabs of one store, their enrollment, and the keys for which the service was asked. */
async function tabsOn({ refusals = [], answer, tenant = tenantId }: Service, count = 1) {
  const [box, scope] = [testBox(), { app: "app", user: "user" }]
  await box.createKey(scope)
  const options = {
    ...{ store: openMemoryStore(), rows: sealedRows(box, scope), suite: makeNodeSuite(), issuer: issuerUrl },
    ...{ platform: "test", storageClass: StorageClass.MEMORY, renewToken: async () => "" },
  }
  const asked: string[] = []
  const expected = { issuerId, tenantId: tenant, appId, userId: alice, atSeconds: now }
  const issue = async ({ deviceRequest }: { readonly deviceRequest: Uint8Array }) => {
    const { leafSignatureKey } = verifyDeviceRequest(deviceRequest, expected)
    asked.push(hex(leafSignatureKey))
    const refusal = refusals.shift()
    if (refusal !== undefined) throw refusal
    const credential = await issueDeviceCredential({ ...world.credentialFields, leafSignatureKey }, world.credentialKey)
    return answer ?? { device: { id: idOf("dev", phone), credential } }
  }
  const transport = createRouterTransport(({ service }) => {
    service(DeviceService, { registerDevice: issue, renewCredential: issue })
  })
  const ids = { appId: idOf("app", appId), tenantId: tenant && idOf("ten", tenant), userId: idOf("prn", alice) }
  const enrollment: Enrollment = {
    clock: { nowMs: () => Number(now) * 1_000, after: () => () => undefined },
    random: { bytes: (length) => new Uint8Array(length) },
    verify: verifyEd25519,
    issuer: { keys: () => world.issuerKeys, refresh: async () => world.issuerKeys },
    owner: { ...ids, app: appId, tenant, user: alice },
    calls: { devices: createClient(DeviceService, transport) },
  }
  const tabs = await Promise.all(Array.from({ length: count }, () => openDevice(options)))
  const [device] = tabs
  if (device === undefined) throw new Error("no tab")
  return { device, tabs, enrollment, asked, refusals }
}

function refusal(reason: string, code?: string): ConnectError {
  const error = new ConnectError("refused", Code.Unauthenticated)
  const metadata: Record<string, string> = code === undefined ? {} : { code }
  error.details.push({ desc: ErrorInfoSchema, value: { reason, domain: "signet", metadata } })
  return error
}

test("a device requests its credential in the tenant of the session", async () => {
  const { device, enrollment } = await tabsOn({})
  await device.register(enrollment)
  expect(device.id).toBe(idOf("dev", phone))
  await device.renew(enrollment)
  // Another tenant's service refuses the request.
  const other = await tabsOn({ tenant: world.id(0x23) })
  const owner = { ...other.enrollment.owner, tenant: tenantId }
  await expect(other.device.register({ ...other.enrollment, owner })).rejects.toThrow(ConnectError)
  expect(other.asked).toEqual([])
})

test("tabs that register concurrently register one key", async () => {
  const { tabs, enrollment, asked } = await tabsOn({}, 3)
  await Promise.all(tabs.map((tab) => tab.register(enrollment)))
  expect([asked.length, new Set(asked).size]).toEqual([3, 1])
  for (const tab of tabs) {
    await tab.reload()
    expect(hex(tab.identity().signatureKey)).toBe(asked[0])
  }
})

test("a response without a device is refused", async () => {
  const { device, enrollment } = await tabsOn({ answer: {} })
  const refused = { reason: "ANSWER_REFUSED", message: "the response has no device" }
  await expect(device.register(enrollment)).rejects.toMatchObject(refused)
})

test("a device that was not registered yet signs no call and has no identity", async () => {
  const { device, enrollment, asked } = await tabsOn({ refusals: [refusal("RATE_LIMITED")] })
  await expect(device.register(enrollment)).rejects.toThrow("refused")
  expect(device.caller()).toBeUndefined()
  expect(() => device.identity()).toThrow(expect.objectContaining({ reason: "DEVICE_ENDED" }))
  // The next attempt uses the stored key.
  await device.register(enrollment)
  expect([asked.length, new Set(asked).size]).toEqual([2, 1])
  expect(device.caller()?.id).toEqual(phone)
})

test.each<[string, ConnectError[], object, number]>([
  [
    "a refusal of the proof's time is no refusal of the key",
    [refusal("DEVICE_PROOF_INVALID", "DEVICE_PROOF_EXPIRED")],
    { name: "ConnectError" },
    1,
  ],
  [
    "a service that fails after it has refused the former key has not ended the device",
    [refusal("DEVICE_PROOF_INVALID"), refusal("RATE_LIMITED")],
    { name: "ConnectError" },
    2,
  ],
  [
    "a service that refuses the former key and the next one has ended the device",
    [refusal("DEVICE_PROOF_INVALID"), refusal("DEVICE_PROOF_INVALID", "DEVICE_PROOF_KEY_MISMATCH")],
    { reason: "DEVICE_ENDED" },
    2,
  ],
])("%s", async (_, given, expected, count) => {
  const { device, enrollment, asked, refusals } = await tabsOn({})
  await device.register(enrollment)
  refusals.push(...given)
  await expect(device.renew(enrollment)).rejects.toMatchObject(expected)
  expect(asked).toHaveLength(1 + count)
})
