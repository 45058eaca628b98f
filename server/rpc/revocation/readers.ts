import { Refused } from "@signet/kernel/errors"
import { maxReaders } from "@signet/kernel/revocation/limits"

/** Limits the calls that wait or stream. */
export interface Readers {
  /** @returns Releases the call. @throws Refused LIMIT_EXCEEDED */
  enter(principalId: string): () => void
}

export function createReaders(most: { readonly ofOne: number; readonly ofAll: number } = maxReaders): Readers {
  const counts = new Map<string, number>()
  let all = 0
  return {
    enter(principalId) {
      const own = counts.get(principalId) ?? 0
      if (own >= most.ofOne || all >= most.ofAll)
        throw new Refused("LIMIT_EXCEEDED", { metadata: { limit: "readers" } })
      counts.set(principalId, own + 1)
      all++
      let isInside = true
      return () => {
        if (!isInside) return
        isInside = false
        all--
        const left = (counts.get(principalId) ?? 1) - 1
        if (left === 0) counts.delete(principalId)
        else counts.set(principalId, left)
      }
    },
  }
}
