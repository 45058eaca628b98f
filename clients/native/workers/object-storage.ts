/** The storage of a Durable Object with SQLite, as far as the host uses it. */
export interface ObjectStorage {
  readonly sql: {
    exec(query: string, ...bindings: readonly SqlValue[]): { toArray(): readonly Readonly<Record<string, SqlValue>>[] }
  }
  /** Rolls back if the closure throws. */
  transactionSync<T>(closure: () => T): T
  /** Resolves once all writes are durable. */
  sync(): Promise<void>
}

type SqlValue = ArrayBuffer | Uint8Array | string | number | null

/** The bytes of a BLOB. */
export function bytesOf(value: SqlValue | undefined): Uint8Array<ArrayBuffer> | undefined {
  return value instanceof ArrayBuffer || value instanceof Uint8Array ? new Uint8Array(value) : undefined
}
