import assert from "node:assert/strict"
import { Archive_Kind as Kind, Archive_Status as Status } from "@signet/proto/messaging/v1/archive_service"
import type { TestDevice } from "../../support/messaging/device.ts"
import { randomBytes } from "../../support/messaging/device-parts.ts"
import * as scene from "../scene.ts"
import { refuses, there } from "../scene.ts"

const archives = ({ calls }: TestDevice) => calls.archives
const create = async (by: TestDevice, kind: Kind, archiveId = randomBytes(16)) => {
  await archives(by).createArchive({ archiveId, kind, header: Uint8Array.of(1) })
  return archiveId
}
const listed = async (by: TestDevice) => (await archives(by).listArchives({})).archives
const append = (by: TestDevice, archiveId: Uint8Array, index: number, data: Uint8Array) =>
  archives(by).appendChunk({ archiveId, index, data })
const grant = (by: TestDevice, archiveId: Uint8Array, text = 7) =>
  archives(by).grantTransfer({ archiveId, grant: Uint8Array.of(text) })

export const cases = [
  ...scene.cases("archives", {
    async "an old device grants a transfer once, writes it, and the new one reads it"({ device }) {
      const old = await device({ keyPackages: 0 })
      const next = await device({ of: old, keyPackages: 0 })
      const third = await device({ of: old, keyPackages: 0 })
      const id = await create(next, Kind.TRANSFER)
      await refuses("STATE_CONFLICT", grant(next, id))
      await refuses("RESOURCE_UNRESOLVED", append(old, id, 0, Uint8Array.of(1)))
      await grant(old, id)
      await grant(old, id)
      await refuses("STATE_CONFLICT", grant(third, id, 8))
      await refuses("RESOURCE_UNRESOLVED", append(third, id, 0, Uint8Array.of(1)))
      await refuses("STATE_CONFLICT", append(old, id, 1, Uint8Array.of(1)))
      const chunk = randomBytes(1_000)
      await append(old, id, 0, chunk)
      await append(old, id, 0, chunk)
      await refuses("STATE_CONFLICT", append(old, id, 0, randomBytes(1_000)))
      assert.deepEqual((await archives(next).readChunk({ archiveId: id, index: 0 })).data, chunk)
      await refuses("INVALID_FIELD", archives(next).readChunk({ archiveId: id, index: 1 }))
      const { archive } = await archives(old).completeArchive({ archiveId: id })
      assert.deepEqual([archive?.status, archive?.chunkCount, archive?.size], [Status.COMPLETE, 1, 1_000n])
      const [shown] = await listed(next)
      assert.equal(shown?.createdByDeviceId, next.id)
      assert.equal(shown?.writerDeviceId, old.id)
      assert.deepEqual([shown?.header, shown?.grant], [Uint8Array.of(1), Uint8Array.of(7)])
      await archives(next).deleteArchive({ archiveId: id })
      await archives(next).deleteArchive({ archiveId: id })
      assert.deepEqual(await listed(old), [])
      await refuses("RESOURCE_UNRESOLVED", archives(next).readChunk({ archiveId: id, index: 0 }))
    },

    async "no other user sees an archive"({ device }) {
      const [own, other] = [await device({ keyPackages: 0 }), await device({ keyPackages: 0 })]
      const id = await create(own, Kind.TRANSFER)
      const backup = await create(own, Kind.BACKUP)
      await append(own, backup, 0, Uint8Array.of(1))
      assert.deepEqual(await listed(other), [])
      await refuses("RESOURCE_UNRESOLVED", grant(other, id))
      await refuses("RESOURCE_UNRESOLVED", append(other, backup, 1, Uint8Array.of(1)))
      await refuses("RESOURCE_UNRESOLVED", archives(other).readChunk({ archiveId: backup, index: 0 }))
      await refuses("RESOURCE_UNRESOLVED", archives(other).completeArchive({ archiveId: backup }))
      await archives(other).deleteArchive({ archiveId: backup })
      assert.equal((await listed(own)).length, 2)
    },

    async "a backup stays until the next one is complete"({ device }) {
      const own = await device({ keyPackages: 0 })
      const [first, second] = [await create(own, Kind.BACKUP), await create(own, Kind.BACKUP)]
      for (const archiveId of [first, second]) {
        await refuses("STATE_CONFLICT", archives(own).completeArchive({ archiveId }))
        await append(own, archiveId, 0, Uint8Array.of(1))
        await archives(own).completeArchive({ archiveId })
      }
      const left = await listed(own)
      assert.deepEqual(
        left.map(({ archiveId }) => archiveId),
        [second],
      )
      assert.ok(Number(there(left[0]?.expiresAt).seconds) > Date.now() / 1_000 + 399 * 86_400)
      await refuses("STATE_CONFLICT", grant(own, second))
    },

    async "a user has a bounded number of archives"({ device }) {
      const own = await device({ keyPackages: 0 })
      for (let i = 0; i < 8; i++) await create(own, Kind.TRANSFER)
      await refuses("LIMIT_EXCEEDED", create(own, Kind.BACKUP))
      const [oldest] = await listed(own)
      await archives(own).deleteArchive({ archiveId: there(oldest).archiveId })
      await create(own, Kind.BACKUP)
    },
  }),
]
