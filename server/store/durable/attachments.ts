import type { Attachments } from "@signet/kernel/messaging/ports"
import { ask } from "./asking.ts"
import type { DurableEnv } from "./env.ts"

/** An attachment is an object of its own, and ends by its own alarm. The device's object knows it by its key. */
export function durableAttachments({ ATTACHMENTS, DEVICES }: DurableEnv): Attachments {
  return {
    /** One that was named by the key, and never made or erased since, is made now: under the id that the key names. */
    async create(record) {
      const { ownerDeviceId, idempotencyKey } = record
      const id = await ask(() => DEVICES.getByName(ownerDeviceId).takeAttachmentKey(idempotencyKey, record.id))
      return ask(() => ATTACHMENTS.getByName(id).create({ ...record, id }))
    },

    find: (id) => ask(() => ATTACHMENTS.getByName(id).find()),

    addPart: (id, index) => ask(() => ATTACHMENTS.getByName(id).addPart(index)),

    complete: (id, expiresAtMs, audit) => ask(() => ATTACHMENTS.getByName(id).complete(expiresAtMs, audit)),

    delete: (id, audit) => ask(() => ATTACHMENTS.getByName(id).delete(audit)),

    /** Each sees to itself. */
    due: async () => [],

    forget: (id) => ask(() => ATTACHMENTS.getByName(id).forget()),
  }
}
