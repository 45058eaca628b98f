// Consistency checks of a place that hold on every backend: logs have no gaps up to their heads, and heads name their
// newest receipt.
import { hash } from "@signet/canonical/hash"
import type { Record } from "@signet/proto/transfer/v1/records"

interface Head {
  readonly headSeq: bigint
  readonly firstSeq: bigint
  readonly receiptHash: Uint8Array | undefined
}

interface Log {
  nextSeq: bigint
  receiptHash: Uint8Array | undefined
}

export interface Heads {
  /** Checks records in export order. @throws Error that names the conversation. */
  see(records: readonly Record[]): void
  /** @returns The number of conversations. @throws Error that names the conversation. */
  end(): number
}

export function createHeads(): Heads {
  const heads = new Map<string, Head>()
  const logs = new Map<string, Log>()
  const fail = (id: string, what: string): never => {
    throw new Error(`The export is incomplete: ${id} ${what}.`)
  }
  return {
    see(records) {
      for (const { kind } of records) {
        if (kind.case === "conversation") {
          const { id, headSeq, firstSeq, state } = kind.value
          heads.set(id, { headSeq, firstSeq, receiptHash: state?.receiptHash })
          logs.set(id, { nextSeq: firstSeq, receiptHash: undefined })
        } else if (kind.case === "envelope") {
          const { conversationId, seq, receipt } = kind.value
          const log = logs.get(conversationId) ?? fail(conversationId, "comes after its log")
          if (seq !== log.nextSeq) fail(conversationId, `has ${seq} instead of ${log.nextSeq}`)
          log.nextSeq++
          if (receipt !== undefined) log.receiptHash = hash("commit-receipt", receipt)
        }
      }
    },

    end() {
      for (const [id, { headSeq, receiptHash }] of heads) {
        const log = logs.get(id)
        if (log?.nextSeq !== headSeq + 1n) fail(id, `ends at ${(log?.nextSeq ?? 0n) - 1n} and not at ${headSeq}`)
        if (Buffer.compare(log?.receiptHash ?? new Uint8Array(), receiptHash ?? new Uint8Array()) !== 0) {
          fail(id, "does not name its newest receipt")
        }
      }
      return heads.size
    },
  }
}
