import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { Attachment_Status } from "@signet/proto/messaging/v1/records"
import type { TestDevice } from "../../support/messaging/device.ts"
import { hexOf, randomBytes } from "../../support/messaging/device-parts.ts"
import type { Room } from "../../support/messaging/room.ts"
import * as scene from "../scene.ts"
import { refuses, there } from "../scene.ts"

const sha256 = (bytes: Uint8Array) => new Uint8Array(createHash("sha256").update(bytes).digest())

async function made(device: TestDevice, { id: conversationId }: Room, bytes: Uint8Array) {
  const request = { conversationId, size: BigInt(bytes.length), sha256: sha256(bytes), idempotencyKey: randomBytes(16) }
  return there((await device.calls.attachments.createAttachment(request)).attachment)
}

const partOf = (bytes: Uint8Array, index: number, size: number) => bytes.subarray(index * size, (index + 1) * size)

export const cases = scene.cases("attachments", {
  async "parts are uploaded in any order, and every member downloads them"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const bytes = randomBytes(1_048_576 + 1_000)
    const { id: attachmentId, partSize, partCount, status, missingParts } = await made(one, room, bytes)
    assert.deepEqual([partSize, partCount, status], [1_048_576, 2, Attachment_Status.UPLOADING])
    assert.deepEqual(missingParts, [0, 1])
    const upload = (index: number) =>
      one.calls.attachments.uploadPart({ attachmentId, index, data: partOf(bytes, index, partSize) })
    assert.deepEqual((await upload(1)).attachment?.missingParts, [0])
    await refuses("ATTACHMENT_INCOMPLETE", one.calls.attachments.completeAttachment({ attachmentId }))
    await refuses("ATTACHMENT_INCOMPLETE", two.calls.attachments.downloadPart({ attachmentId, index: 1 }))
    const seen = await one.calls.attachments.getAttachment({ attachmentId })
    assert.deepEqual(seen.attachment?.missingParts, [0])
    await upload(0)
    await upload(0)
    const done = await one.calls.attachments.completeAttachment({ attachmentId })
    assert.equal(done.attachment?.status, Attachment_Status.COMPLETE)
    await one.calls.attachments.completeAttachment({ attachmentId })
    await refuses("ATTACHMENT_COMPLETE", upload(0))
    await refuses("ATTACHMENT_COMPLETE", one.calls.attachments.presignPart({ attachmentId, index: 0 }))
    for (const index of [0, 1]) {
      const { data } = await two.calls.attachments.downloadPart({ attachmentId, index })
      assert.equal(hexOf(sha256(data)), hexOf(sha256(partOf(bytes, index, partSize))))
    }
    const { attachment } = await two.calls.attachments.getAttachment({ attachmentId })
    assert.equal(hexOf(there(attachment).sha256), hexOf(sha256(bytes)))
  },
  async "a part's index and size are checked"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const bytes = randomBytes(1_000)
    const { id: attachmentId } = await made(one, room, bytes)
    const upload = (index: number, data: Uint8Array) => one.calls.attachments.uploadPart({ attachmentId, index, data })
    await refuses("INVALID_FIELD", upload(1, bytes))
    await refuses("INVALID_FIELD", upload(0, bytes.subarray(1)))
    await refuses("INVALID_FIELD", upload(0, randomBytes(1_001)))
    await upload(0, bytes)
    await one.calls.attachments.completeAttachment({ attachmentId })
    await refuses("INVALID_FIELD", two.calls.attachments.downloadPart({ attachmentId, index: 1 }))
  },
  async "the same key gives the same attachment, and another size is refused"({ pair, group }) {
    const [one, two] = await pair()
    const { id: conversationId } = await group(one, two)
    const request = { conversationId, size: 10n, sha256: randomBytes(32), idempotencyKey: randomBytes(16) }
    const first = await one.calls.attachments.createAttachment(request)
    const again = await one.calls.attachments.createAttachment(request)
    assert.equal(again.attachment?.id, first.attachment?.id)
    const other = one.calls.attachments.createAttachment({ ...request, size: 11n })
    await refuses("IDEMPOTENCY_MISMATCH", other)
  },
  async "a user outside the conversation cannot see an attachment"({ trio, group }) {
    const [one, two, outsider] = await trio()
    const room = await group(one, two)
    const bytes = randomBytes(100)
    const { id: attachmentId } = await made(one, room, bytes)
    const { attachments } = outsider.calls
    for (const id of [attachmentId, "att_00000000000000000000000000"]) {
      await refuses("RESOURCE_UNRESOLVED", attachments.getAttachment({ attachmentId: id }))
      await refuses("RESOURCE_UNRESOLVED", attachments.downloadPart({ attachmentId: id, index: 0 }))
      await refuses("RESOURCE_UNRESOLVED", attachments.uploadPart({ attachmentId: id, index: 0, data: bytes }))
      await refuses("RESOURCE_UNRESOLVED", attachments.presignPart({ attachmentId: id, index: 0 }))
      await refuses("RESOURCE_UNRESOLVED", attachments.completeAttachment({ attachmentId: id }))
      await refuses("RESOURCE_UNRESOLVED", attachments.deleteAttachment({ attachmentId: id }))
    }
    const request = { conversationId: room.id, size: 1n, sha256: randomBytes(32), idempotencyKey: randomBytes(16) }
    await refuses("RESOURCE_UNRESOLVED", attachments.createAttachment(request))
  },
  async "only its creator uploads and deletes an attachment"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const bytes = randomBytes(100)
    const { id: attachmentId } = await made(one, room, bytes)
    const upload = two.calls.attachments.uploadPart({ attachmentId, index: 0, data: bytes })
    await refuses("RESOURCE_UNRESOLVED", upload)
    await refuses("RESOURCE_UNRESOLVED", two.calls.attachments.deleteAttachment({ attachmentId }))
    await one.calls.attachments.uploadPart({ attachmentId, index: 0, data: bytes })
    await one.calls.attachments.completeAttachment({ attachmentId })
    await one.calls.attachments.deleteAttachment({ attachmentId })
    await refuses("RESOURCE_UNRESOLVED", two.calls.attachments.downloadPart({ attachmentId, index: 0 }))
  },
  async "an attachment's size has a limit"({ pair, group }) {
    const [one, two] = await pair()
    const { id: conversationId } = await group(one, two)
    const ask = (size: bigint) =>
      one.calls.attachments.createAttachment({
        conversationId,
        size,
        sha256: randomBytes(32),
        idempotencyKey: randomBytes(16),
      })
    await refuses("INVALID_FIELD", ask(0n))
    await refuses("INVALID_FIELD", ask(104_857_601n))
  },
})
