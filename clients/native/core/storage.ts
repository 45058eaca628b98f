// The identity client's storage and lock over the host's effects.

import { toHex } from "@signet/canonical/bytes"
import type { ByteStorage, Lock } from "@signet/client"
import { SignetError } from "../../core/errors.ts"
import { perform } from "./effects.ts"
import { HostError, sha256 } from "./host.ts"

const utf8 = new TextEncoder()

/** The client's names have URLs: the host gets 64 hexadecimal digits. */
const nameFor = (name: string) => toHex(sha256(utf8.encode(name)))

export const storage: ByteStorage = {
  async read(name) {
    const { revision, bytes } = await perform({ case: "storageRead", value: { name: nameFor(name) } }, "storageRead")
    return revision === "" ? undefined : { revision, bytes }
  },
  async write(name, bytes, expected) {
    const value = { name: nameFor(name), bytes, ...(expected !== undefined && { expected }) }
    const { revision } = await perform({ case: "storageWrite", value }, "storageWrite")
    return revision === "" ? undefined : revision
  },
  async remove(name, expected) {
    const value = { name: nameFor(name), expected }
    return (await perform({ case: "storageRemove", value }, "storageRemove")).removed
  },
}

let last: Promise<unknown> = Promise.resolve()

/** Serialized in this core first: the host sees one holder of it at a time. */
export const lock: Lock = {
  run(work) {
    const turn = last.then(() => holding(work))
    last = turn.catch(() => undefined)
    return turn
  },
}

async function holding<T>(work: () => Promise<T>): Promise<T> {
  try {
    await perform({ case: "lockAcquire", value: {} }, "done")
  } catch (error) {
    if (!(error instanceof HostError) || error.reason !== "LOCK_BUSY") throw error
    throw new SignetError("LOCK_BUSY", "another process holds this lock")
  }
  try {
    return await work()
  } finally {
    await perform({ case: "lockRelease", value: {} }, "done")
  }
}
