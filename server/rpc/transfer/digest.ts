// The digest of exported records. It is independent of paging, order and storage.
import { toBinary } from "@bufbuild/protobuf"
import { sha256 } from "@noble/hashes/sha2.js"
import { type Record, RecordSchema } from "@signet/proto/transfer/v1/records"

export interface Tally {
  /** Modulo 2^256. */
  readonly sum: bigint
  readonly counts: ReadonlyMap<string, bigint>
}

export const nothing: Tally = { sum: 0n, counts: new Map() }

const modulus = 1n << 256n

/** Proof nonces expire independently, so they are not counted. */
export function tallyOf(records: readonly Record[]): Tally {
  let sum = 0n
  const counts = new Map<string, bigint>()
  for (const record of records) {
    const kind = record.kind.case
    if (kind === undefined || kind === "proofNonce") continue
    sum = (sum + numberOf(sha256(toBinary(RecordSchema, record)))) % modulus
    counts.set(kind, (counts.get(kind) ?? 0n) + 1n)
  }
  return { sum, counts }
}

const numberOf = (bytes: Uint8Array): bigint => bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n)

/** 32 bytes, big-endian. */
export const sumBytes = ({ sum }: Tally): Uint8Array =>
  Uint8Array.from({ length: 32 }, (_, i) => Number((sum >> BigInt(8 * (31 - i))) & 255n))
