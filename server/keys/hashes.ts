// SHA-2 of node:crypto with the interface of @noble/hashes: programs on Node need not bundle the latter.
import { createHash } from "node:crypto"

type Name = "sha256" | "sha512"

/** An incremental hash. */
export interface Running {
  update(bytes: Uint8Array): Running
  digest(): Uint8Array
}

function hash(name: Name): { (bytes: Uint8Array): Uint8Array; create(): Running } {
  const create = (): Running => {
    const state = createHash(name)
    const running: Running = {
      update(bytes) {
        state.update(bytes)
        return running
      },
      digest: () => new Uint8Array(state.digest()),
    }
    return running
  }
  return Object.assign((bytes: Uint8Array) => create().update(bytes).digest(), { create })
}

export const sha256 = hash("sha256")
export const sha512 = hash("sha512")
