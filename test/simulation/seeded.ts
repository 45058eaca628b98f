import { createHash } from "node:crypto"

/** Chance that is the same for the same seed: every choice and every byte of a run comes from one of these. */
export interface Seeded {
  bytes(length: number): Uint8Array<ArrayBuffer>
  /** A whole number from 0 to below the bound. */
  below(bound: number): number
  chance(probability: number): boolean
  /** @throws RangeError for an empty list. */
  pick<T>(list: readonly T[]): T
  /** Another source, which what is drawn here does not change. */
  fork(name: string): Seeded
}

export function seeded(seed: string): Seeded {
  let counter = 0
  let pool = Buffer.alloc(0)
  const take = (length: number): Buffer => {
    const pieces = [pool]
    for (let size = pool.length; size < length; size += 64) {
      pieces.push(createHash("sha512").update(`${seed}/${counter++}`).digest())
    }
    if (pieces.length > 1) pool = Buffer.concat(pieces)
    const taken = pool.subarray(0, length)
    pool = pool.subarray(length)
    return taken
  }
  const below = (bound: number) => Math.floor((take(4).readUInt32BE() / 2 ** 32) * bound)
  return {
    bytes: (length) => Uint8Array.from(take(length)),
    below,
    chance: (probability) => below(10_000) < probability * 10_000,
    pick(list) {
      const [picked] = list.slice(below(list.length))
      if (picked === undefined) throw new RangeError("nothing to pick from")
      return picked
    },
    fork: (name) => seeded(`${seed}/${name}`),
  }
}
