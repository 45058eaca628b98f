// The client's ports: the functions that it requires of its platform.
import type { Transport } from "@connectrpc/connect"

export interface Clock {
  /** Milliseconds since the Unix epoch. May jump, in both directions. */
  nowMs(): number
  /** Runs once after `ms`; does not keep the program alive. @returns Cancels it. */
  after(ms: number, run: () => void): () => void
}

export interface Random {
  bytes(length: number): Uint8Array<ArrayBuffer>
}

/** Bytes, and the unique name of this write of them. */
export interface StoredBytes {
  readonly revision: string
  readonly bytes: Uint8Array
}

/**
 * Named bytes that survive restarts, shared by all tabs or processes of one client. The writer seals bytes that must be
 * secret.
 */
export interface ByteStorage {
  read(name: string): Promise<StoredBytes | undefined>
  /**
   * Writes atomically: a reader, also after a crash, sees the bytes before or after, never a part.
   *
   * @param expected The revision to replace; undefined if there must be none; "any" for whichever is stored.
   * @returns The new revision; undefined, and nothing was written, if another one is stored.
   */
  write(name: string, bytes: Uint8Array, expected: string | undefined | "any"): Promise<string | undefined>
  /** @returns False, and nothing was removed, if another revision is stored. True if it was removed before. */
  remove(name: string, expected: string | "any"): Promise<boolean>
}

/** A mutual exclusion among all users of a store. */
export interface Lock {
  /**
   * Waits for the lock, and releases it when `work` ends, or the tab or process does.
   *
   * A frozen holder may lose the lock: `work` must tolerate a concurrent holder when it resumes.
   *
   * @throws SignetError LOCK_BUSY when the wait takes too long.
   */
  run<T>(work: () => Promise<T>): Promise<T>
}

/** Notifies the other tabs of this client, in memory only. Messages may be lost. */
export interface Channel {
  post(message: unknown): void
  /** @returns Unsubscribes. */
  subscribe(listener: (message: unknown) => void): () => void
  /** Closes what prevents the page from being frozen, until `resume`; listeners stay. */
  suspend(): void
  resume(): void
}

/** Calls one service in one protocol. */
export type Wire = (options: { baseUrl: string; fetch?: typeof globalThis.fetch }) => Transport
