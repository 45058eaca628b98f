import type { Storage } from "../deps.ts"
import { MessagingError } from "../errors.ts"
import { deviceSpace, type Op } from "../store/store.ts"

const maxRaces = 100

/** Writes independent rows of the device, on top of any generation. */
export async function writeDeviceRows({ store }: Pick<Storage, "store">, ops: readonly Op[]): Promise<void> {
  for (let race = 0; race < maxRaces; race++) {
    const { generation } = await store.read(deviceSpace, [])
    const done = await store.transact(deviceSpace, generation, ops)
    if (done === "ok") return
    if (done === "EXISTS") throw new MessagingError("STATE_TAMPERED", "the row exists already")
  }
  throw new MessagingError("STATE_TAMPERED", "the store rejects every write")
}
