// The digest of exported records: the sum of their SHA-256 hashes, independent of paging, order and storage backend. It
// detects records that were lost or changed by mistake. It is no proof against an operator who forges records.
import { toBinary } from "@bufbuild/protobuf"
import { sha256 } from "@noble/hashes/sha2.js"
import { RecordSchema, type Record as TransferRecord } from "@signet/proto/transfer/v1/records"

export interface Tally {
  /** Modulo 2^256. */
  readonly sum: bigint
  readonly counts: ReadonlyMap<string, bigint>
}

export const emptyTally: Tally = { sum: 0n, counts: new Map() }

const modulus = 1n << 256n

/** Sums these records. Proof nonces are left out: they may expire between the counts of source and target. */
export function tallyOf(records: readonly TransferRecord[]): Tally {
  let sum = 0n
  const counts = new Map<string, bigint>()
  for (const record of records) {
    const kind = record.kind.case
    if (kind === undefined || kind === "proofNonce") continue
    sum = (sum + fromBigEndian(sha256(toBinary(RecordSchema, record)))) % modulus
    counts.set(kind, (counts.get(kind) ?? 0n) + 1n)
  }
  return { sum, counts }
}

const fromBigEndian = (bytes: Uint8Array): bigint => bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n)

/** 32 bytes, big-endian. */
export const sumBytes = ({ sum }: Tally): Uint8Array =>
  Uint8Array.from({ length: 32 }, (_, i) => Number((sum >> BigInt(8 * (31 - i))) & 255n))
