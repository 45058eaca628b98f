// WebCrypto, which works in threads: time stands still until it is done. And which position of which key seals what.
import { createHash } from "node:crypto"
import type { Schedule } from "./schedule.ts"

interface Sealed {
  /** Its plaintext and what it is bound to. */
  readonly content: string
  /** Bytes that only it has: its last, which are its tag. */
  readonly tag: Buffer
  hasLeft: boolean
}

interface Run {
  readonly schedule: Schedule
  readonly violations: string[]
  /** What keys have sealed, by key and nonce. */
  readonly sealed: Map<string, Sealed[]>
}

/** The run that is played: one at a time. */
let run: Run | undefined
let isCounted = false
const names = new WeakMap<CryptoKey, string>()

/** From now on, for this run, until the next one. */
export function watchWebCrypto(schedule: Schedule, violations: string[]): void {
  run = { schedule, violations, sealed: new Map() }
  if (isCounted) return
  isCounted = true
  const { subtle } = globalThis.crypto
  const { importKey, encrypt, decrypt } = subtle
  const outside = <T>(work: () => Promise<T>): Promise<T> => run?.schedule.outside(work) ?? work()
  const counted = {
    async importKey(...args: Parameters<typeof importKey>) {
      const [, data] = args
      const name = ArrayBuffer.isView(data) ? nameOf(bytesIn(data)) : undefined
      const key = await outside(() => importKey.apply(subtle, args))
      if (name !== undefined) names.set(key, name)
      return key
    },
    async encrypt(...args: Parameters<typeof encrypt>) {
      const sealed = await outside(() => encrypt.apply(subtle, args))
      keep(args, sealed)
      return sealed
    },
    decrypt: (...args: Parameters<typeof decrypt>) => outside(() => decrypt.apply(subtle, args)),
  }
  Object.assign(subtle, counted)
}

function keep([algorithm, key, data]: Parameters<SubtleCrypto["encrypt"]>, sealed: ArrayBuffer): void {
  const name = names.get(key)
  if (run === undefined || name === undefined || typeof algorithm === "string" || !("iv" in algorithm)) return
  const { iv, additionalData } = algorithm as AesGcmParams
  const position = `${name} ${nameOf(bytesIn(iv))}`
  const content = nameOf(bytesIn(additionalData ?? new Uint8Array()), bytesIn(data))
  const all = run.sealed.get(position) ?? []
  run.sealed.set(position, all)
  if (all.some((one) => one.content === content)) return
  all.push({ content, tag: Buffer.from(sealed.slice(-16)), hasLeft: false })
}

/** Ciphertext leaves its device. What was sealed and held back counts for nothing. */
export function leaves(bytes: Uint8Array): void {
  const left = Buffer.from(bytes)
  for (const all of run?.sealed.values() ?? []) {
    for (const one of all) one.hasLeft ||= left.includes(one.tag)
    if (all.filter(({ hasLeft }) => hasLeft).length > 1) run?.violations.push("a position of a file seals two chunks")
  }
}

function bytesIn(data: BufferSource): Uint8Array {
  return ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data)
}

function nameOf(...pieces: readonly Uint8Array[]): string {
  const hash = createHash("sha256")
  for (const piece of pieces) hash.update(`${piece.length} `).update(piece)
  return hash.digest("hex")
}
