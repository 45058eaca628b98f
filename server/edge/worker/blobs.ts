import type { BlobStore } from "@signet/kernel/messaging/ports"
import { checkBytes, checkKey, maxBlobBytes, unavailable } from "../../blobs/key.ts"

/** The used part of an R2 bucket. */
export interface Bucket {
  put(key: string, bytes: Uint8Array): Promise<unknown>
  get(key: string): Promise<{ readonly size: number; arrayBuffer(): Promise<ArrayBuffer> } | null>
  head(key: string): Promise<{ readonly size: number } | null>
  delete(key: string): Promise<void>
}

/** Blobs in an R2 bucket. It issues no presigned URLs: the bytes pass through the Worker, which checks them. */
export function createR2Blobs(bucket: Bucket): BlobStore {
  return {
    put: (key, bytes) =>
      refusing(async () => {
        await bucket.put(checkKey(key), checkBytes(bytes))
      }),

    get: (key) =>
      refusing(async () => {
        const found = await bucket.get(checkKey(key))
        if (found === null) return undefined
        if (found.size > maxBlobBytes) throw new Error("the blob exceeds the size limit")
        return new Uint8Array(await found.arrayBuffer())
      }),

    size: (key) => refusing(async () => (await bucket.head(checkKey(key)))?.size),

    delete: (key) => refusing(() => bucket.delete(checkKey(key))),

    presign: async () => undefined,
  }
}

async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw unavailable(error)
  }
}
