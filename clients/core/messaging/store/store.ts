// The interface of a client's storage, which sees only names and sealed bytes.

/** The unit of transactions and generations: the device, or one conversation (`cnv_…`). */
export type Space = string
export const deviceSpace: Space = "device"

export type Table =
  /** Tables of the device's space. */
  | "header"
  | "device"
  | "keyPackage"
  | "usedKeyPackage"
  | "creation"
  | "peer"
  | "history"
  /** Tables of a conversation's space. */
  | "conversation"
  | "state"
  | "tree"
  | "staged"
  | "intent"
  | "outbox"
  | "timeline"
  | "tail"
  | "resent"
  | "attachment"
  | "upload"

export interface Named {
  readonly table: Table
  /** At most 128 characters of [A-Za-z0-9_:-]. */
  readonly key: string
}

export interface Row {
  readonly key: string
  readonly value: Uint8Array
}

/** One write. `space` defaults to the transaction's own. A write to another space does not change its generation. */
export type Op = Named & { readonly space?: Space } & (
    | { readonly op: "put"; readonly value: Uint8Array }
    /** Refuses the whole transaction if the row exists. */
    | { readonly op: "create"; readonly value: Uint8Array }
    | { readonly op: "remove" }
  )

/** The outcome of a transaction. Only `ok` has written. */
export type Transacted = "ok" | "GENERATION_MISMATCH" | "EXISTS"

/**
 * Implementations pass testing/store-suite.ts with injected faults: a transaction is atomic even if any operation
 * fails, or is the last one of its process.
 */
export interface MessagingStore {
  /** The data that survives a restart: none, all unless the platform evicts it, or all. */
  readonly durability: "memory" | "best-effort" | "persistent"
  /** Reads rows and the generation of the space consistently; 0n for a space that was never written. */
  read(space: Space, wanted: readonly Named[]): Promise<{ generation: bigint; values: (Uint8Array | undefined)[] }>
  /** Lists rows by ascending key. @param range Only keys after `after`, and at most `limit` rows. */
  list(space: Space, table: Table, range?: { after?: string; limit?: number }): Promise<Row[]>
  /** Lists all written spaces in ascending order. */
  spaces(): Promise<Space[]>
  /**
   * The only write. It is atomic, increases the generation by one, and is durable once it resolves. If it rejects, the
   * caller must read to learn whether it was written.
   */
  transact(space: Space, expectedGeneration: bigint, ops: readonly Op[]): Promise<Transacted>
  /** Reports the spaces that other tabs have written, until the store is closed. Reports may be lost. */
  watch?(listener: (space: Space) => void): void
  /** Runs work for a space in one tab at a time, at best effort: without a turn in time, the work runs anyway. */
  inTurn?<T>(space: Space, work: () => Promise<T>): Promise<T>
  close(): Promise<void>
}
