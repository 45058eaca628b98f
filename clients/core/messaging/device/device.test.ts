import { issueIssuerKeySet } from "@signet/canonical/issuer-keys"
import { StorageClass } from "@signet/proto/credential/v1/device_request"
import { expect, test } from "vitest"
import { keySetFields, root } from "../../../../proto/canonical/testing/world.ts"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { openMemoryStore } from "../store/memory.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import { testBox } from "../testing/test-box.ts"
import { openDevice } from "./device.ts"
import { versionOf } from "./issuer.ts"

/** The same device in so many tabs. */
async function tabs(count: number) {
  const box = testBox()
  const scope = { app: "app", user: "user" }
  await box.createKey(scope)
  const options = {
    store: openMemoryStore(),
    rows: sealedRows(box, scope),
    suite: makeNodeSuite(),
    issuer: "https://auth.example.com",
    platform: "test",
    storageClass: StorageClass.MEMORY,
    renewToken: async () => "",
  }
  return Promise.all(Array.from({ length: count }, () => openDevice(options)))
}

const sets = await Promise.all(
  [1n, 2n, 3n].map((setVersion) => issueIssuerKeySet({ ...keySetFields, setVersion }, root)),
)
const [first = new Uint8Array(), second = first, third = first] = sets

test.each([
  ["the older one last", [third, first]],
  ["the older one first", [first, third]],
  ["as they come", [second, third, first]],
])("of key sets that tabs keep, %s, the newest stays", async (_, order) => {
  const all = await tabs(order.length)
  for (const [i, signed] of order.entries()) await all[i]?.keepIssuerKeySet(signed)
  for (const device of all) {
    await device.reload()
    expect(versionOf(device.issuerKeySet)).toBe(3n)
  }
  // Whoever came with an older one is told.
  expect(await all[0]?.keepIssuerKeySet(second)).toEqual(third)
})

test("of key sets that tabs keep at the same moment, the newest stays", async () => {
  const all = await tabs(3)
  await Promise.all([first, third, second].map((signed, i) => all[i]?.keepIssuerKeySet(signed)))
  const [again] = all
  await again?.reload()
  expect(again?.issuerKeySet).toEqual(third)
})

test("a device that was forgotten signs nothing", async () => {
  const [device] = await tabs(1)
  device?.forget()
  expect(() => device?.identity()).toThrow(expect.objectContaining({ reason: "DEVICE_ENDED" }))
  expect(device?.caller()).toBeUndefined()
})
