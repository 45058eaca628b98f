// Where a client keeps its state. A store knows names and sealed bytes, and nothing of what is in them.

/** The device itself, or one of its conversations (`cnv_…`): what is written at once, and has a generation. */
export type Space = string
export const deviceSpace: Space = "device"

export type Table =
  /** In the device's space. */
  | "header"
  | "device"
  | "keyPackage"
  | "usedKeyPackage"
  | "creation"
  | "peer"
  /** In a conversation's. */
  | "conversation"
  | "state"
  | "tree"
  | "staged"
  | "intent"
  | "outbox"
  | "timeline"
  | "attachment"
  | "upload"

export interface Named {
  readonly table: Table
  /** Of [A-Za-z0-9_:-], at most 128. */
  readonly key: string
}

export interface Row {
  readonly key: string
  readonly value: Uint8Array
}

/** One write. `space` is the transaction's own where it is not said; another one's generation stays as it is. */
export type Op = Named & { readonly space?: Space } & (
    | { readonly op: "put"; readonly value: Uint8Array }
    /** Refuses the whole transaction where there is one already. */
    | { readonly op: "create"; readonly value: Uint8Array }
    | { readonly op: "remove" }
  )

/** What a transaction came to. Only `ok` has written anything. */
export type Transacted = "ok" | "GENERATION_MISMATCH" | "EXISTS"

/**
 * Implementations pass one suite (testing/store-suite.ts), and its faults: whatever operation fails or is the last one of
 * a process, all of a transaction is there afterwards or nothing.
 */
export interface MessagingStore {
  /** What a restart leaves: nothing, what the platform does not clear away, or everything. */
  readonly durability: "memory" | "best-effort" | "persistent"
  /** Rows of one moment, with the generation of the space then; 0n for one that was never written. */
  read(space: Space, wanted: readonly Named[]): Promise<{ generation: bigint; values: (Uint8Array | undefined)[] }>
  /** Rows by ascending key. @param range From after a key on, and at most so many. */
  list(space: Space, table: Table, range?: { after?: string; limit?: number }): Promise<Row[]>
  /** Every space that was ever written, ascending. */
  spaces(): Promise<Space[]>
  /**
   * The only write. All or nothing, durable when it resolves, and one more generation of the space; when it rejects,
   * whether it was written is found out by reading.
   */
  transact(space: Space, expectedGeneration: bigint, ops: readonly Op[]): Promise<Transacted>
  /** Hears which space another tab has written, until it is closed. Some may be missed. */
  watch?(listener: (space: Space) => void): void
  /** Work for a space, one tab after the other, as a courtesy: who gets no turn soon works all the same. */
  inTurn?<T>(space: Space, work: () => Promise<T>): Promise<T>
  close(): Promise<void>
}
