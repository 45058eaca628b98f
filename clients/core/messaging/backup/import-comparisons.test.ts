// Import of comparisons from a backup.

import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { hash } from "@signet/canonical/hash"
import { BackupChunkV1_ComparedUserSchema } from "@signet/proto/client/v1/backup"
import {
  VerificationRecord_Status as Status,
  type VerificationRecord,
  type VerificationRecordSchema,
} from "@signet/proto/client/v1/records"
import { expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import type { Context } from "../context.ts"
import { idOf } from "../ids.ts"
import { conversation, device, fourth, otherFourth, set, theirs, third } from "../testing/compared-users.ts"
import { signedIdentity } from "../testing/signed-group.ts"
import { readPeer } from "../verification/peer-rows.ts"
import { presentKeys, verification } from "../verification/verification.ts"
import { importComparison } from "./import-comparisons.ts"

const { bytes32 } = world

const phoneKey = world.credentialFields.leafSignatureKey
const comparison = {
  status: Status.VERIFIED,
  method: "number",
  acceptedKeys: [phoneKey],
  ...{ listVersion: 4n, listHash: hash("device-list", fourth) },
}
const imports = (context: Context, record: MessageInitShape<typeof VerificationRecordSchema> = comparison) =>
  importComparison(context, create(BackupChunkV1_ComparedUserSchema, { userId: theirs, record }))
const unseen = { listVersion: 0n, listHash: new Uint8Array() }
const changed = { is: "keysChanged", userId: theirs, deviceIds: [], listFault: undefined }

test.each<[string, Partial<typeof comparison>, Parameters<typeof device>, object, Status]>([
  ["of today's keys is taken over", {}, [], {}, Status.VERIFIED],
  [
    "of other keys has changed",
    { acceptedKeys: [bytes32(1)] },
    [],
    { deviceIds: [idOf("dev", world.phone)] },
    Status.CHANGED,
  ],
  ["of a user without keys today has changed", unseen, [{}, [], []], {}, Status.CHANGED],
  [
    "of a list that the service does not return has changed",
    {},
    [{}, [third]],
    faultOf("LIST_ROLLBACK"),
    Status.CHANGED,
  ],
  [
    "of a list that another one contradicts has changed",
    {},
    [{}, [third, otherFourth]],
    faultOf("DEVICE_LIST_FORK"),
    Status.CHANGED,
  ],
  ["of devices that the service does not return has changed", {}, [{}, [third, fourth], []], {}, Status.CHANGED],
])("an imported comparison %s", async (_, change, of, event, status) => {
  const one = await device(...of)
  expect(await imports(one.context, { ...comparison, ...change })).toBe(status === Status.CHANGED)
  expect(one.events).toEqual(status === Status.CHANGED ? [{ ...changed, ...event }] : [])
  expect(await one.stored()).toMatchObject({ status, acceptedKeys: change.acceptedKeys ?? [phoneKey] })
})

function faultOf(listFault: string) {
  return { listFault }
}

test("an imported comparison is not verified by a member that no list names, nor while one joins", async () => {
  const unlisted = await device({}, [], [])
  await conversation(unlisted, {}, await signedIdentity())
  const { listHash: _, ...seen } = comparison
  const [own] = await presentKeys(unlisted.context, theirs)
  expect(await imports(unlisted.context, { ...seen, listVersion: 0n, acceptedKeys: [own?.key ?? bytes32(1)] })).toBe(
    true,
  )
  expect((await unlisted.stored())?.status).toBe(Status.CHANGED)
  let isIn = false
  const joined = await device({
    async whileSearched(context) {
      const { record } = await readPeer(context, theirs)
      if (record?.status !== Status.VERIFIED || isIn) return
      isIn = true
      await conversation(joined, {}, await signedIdentity({ deviceId: world.id(0x68) }))
    },
  })
  expect(await imports(joined.context)).toBe(false)
  expect(joined.events).toEqual([{ ...changed, deviceIds: [idOf("dev", world.id(0x68))] }])
  expect(await verification(joined.context).status(theirs)).toBe("changed")
})

test("an imported comparison that had changed stays changed, with its fault and without an event", async () => {
  const one = await device()
  const found = { ...comparison, status: Status.CHANGED, listFault: "DEVICE_LIST_FORK" }
  expect(await imports(one.context, found)).toBe(false)
  expect(one.events).toEqual([])
  expect(await one.stored()).toMatchObject({ status: Status.CHANGED, listFault: "DEVICE_LIST_FORK" })
})

test.each<[string, Partial<VerificationRecord>]>([
  ["has compared the keys", { status: Status.VERIFIED, method: "qr" }],
  ["has refused a list", { listFault: "LIST_ROLLBACK" }],
])("an imported comparison replaces nothing if this device %s, before or meanwhile", async (_, own) => {
  const before = await device()
  await set(own)(before.context)
  const meanwhile = await device({ whileAsked: set(own) })
  for (const one of [before, meanwhile]) {
    expect(await imports(one.context)).toBe(false)
    expect(await one.stored()).toMatchObject({ ...own, acceptedKeys: [] })
  }
})

test("an import asks for today's keys, and refuses a comparison that names no user", async () => {
  const failing = await device({
    whileAsked: async () => {
      throw new Error("offline")
    },
  })
  await expect(imports(failing.context)).rejects.toMatchObject({ name: "ConnectError" })
  expect(await failing.stored()).toBeUndefined()
  for (const unnamed of [{ record: comparison }, { userId: "prn_b", record: comparison }, { userId: theirs }]) {
    const compared = create(BackupChunkV1_ComparedUserSchema, unnamed)
    await expect(importComparison(failing.context, compared)).rejects.toMatchObject({ reason: "BACKUP_TAMPERED" })
  }
})
