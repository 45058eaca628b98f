import { isSecretBoxError } from "../../secret-box.ts"
import type { Context } from "../context.ts"
import { isMessagingError } from "../errors.ts"
import { deviceSpace } from "../store/store.ts"

/**
 * Rewrites the records of earlier versions with their generation, once, and stores that fact: a record without a
 * generation is refused from then on, because it was restored. Safe to interrupt and repeat.
 */
export async function bindRecords({
  store,
  conversation,
  device,
}: Pick<Context, "store" | "conversation" | "device">): Promise<void> {
  if (device.marks.bindsRecords) return
  for (const id of await store.spaces()) {
    if (id === deviceSpace) continue
    try {
      if ((await conversation(id).record()) !== undefined) continue
      await conversation(id).change(async (stored) =>
        stored.record === undefined ? { result: undefined } : { next: { ...stored }, result: undefined },
      )
    } catch (error) {
      // A tampered record stays unchanged, and fails when it is opened.
      if (!isTampered(error)) throw error
    }
  }
  await device.mark({ bindsRecords: true })
}

export const isTampered = (error: unknown): boolean =>
  isMessagingError(error, "STATE_TAMPERED") || isSecretBoxError(error, "STATE_TAMPERED")
