// Random bytes from a pool: one call of the operating system's generator for many short values, which costs a tenth.
import { randomBytes } from "node:crypto"

const poolBytes = 4_096
let pool = Buffer.alloc(0)
let at = 0

/** Returns cryptographically secure random bytes in memory of their own. The pool forgets what it has returned. */
export function pooledRandomBytes(length: number): Uint8Array<ArrayBuffer> {
  if (length > poolBytes / 16) return new Uint8Array(randomBytes(length))
  if (at + length > pool.length) {
    pool = randomBytes(poolBytes)
    at = 0
  }
  const bytes = new Uint8Array(pool.subarray(at, at + length))
  pool.fill(0, at, at + length)
  at += length
  return bytes
}
