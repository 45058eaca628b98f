import type { BlobStore } from "@signet/kernel/messaging/ports"
import { checkBytes, checkKey, maxBlobBytes, unavailable } from "../../blobs/key.ts"

/** Blobs in an R2 bucket. It makes no addresses, so the bytes pass through the Worker, which checks them. */
export function createR2Blobs(bucket: R2Bucket): BlobStore {
  return {
    put: (key, bytes) =>
      telling(async () => {
        await bucket.put(checkKey(key), checkBytes(bytes))
      }),

    get: (key) =>
      telling(async () => {
        const found = await bucket.get(checkKey(key))
        if (found === null) return undefined
        if (found.size > maxBlobBytes) throw new Error("a blob is too large")
        return new Uint8Array(await found.arrayBuffer())
      }),

    size: (key) => telling(async () => (await bucket.head(checkKey(key)))?.size),

    delete: (key) => telling(() => bucket.delete(checkKey(key))),

    presign: async () => undefined,
  }
}

async function telling<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw unavailable(error)
  }
}
