import type { Attachments } from "@signet/kernel/messaging/ports"
import { ask } from "./asking.ts"
import type { DurableEnv } from "./env.ts"

/**
 * Each attachment is an object, and expires by its own alarm. The owner device's object maps idempotency keys to
 * attachments.
 */
export function durableAttachments({ ATTACHMENTS, DEVICES }: DurableEnv): Attachments {
  return {
    /** Creates the attachment under the id that its key names. A key without a stored attachment creates it now. */
    async create(record) {
      const { ownerDeviceId, idempotencyKey } = record
      const id = await ask(() => DEVICES.getByName(ownerDeviceId).takeAttachmentKey(idempotencyKey, record.id))
      return ask(() => ATTACHMENTS.getByName(id).create({ ...record, id }))
    },

    find: (id) => ask(() => ATTACHMENTS.getByName(id).find()),

    addPart: (id, index) => ask(() => ATTACHMENTS.getByName(id).addPart(index)),

    complete: (id, expiresAtMs, audit) => ask(() => ATTACHMENTS.getByName(id).complete(expiresAtMs, audit)),

    delete: (id, audit) => ask(() => ATTACHMENTS.getByName(id).delete(audit)),

    /** Each object's alarm erases it. */
    due: async () => [],

    forget: (id) => ask(() => ATTACHMENTS.getByName(id).forget()),
  }
}
