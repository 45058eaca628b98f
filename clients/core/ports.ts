// What the client needs of the platform it runs on.
import type { Transport } from "@connectrpc/connect"

export interface Clock {
  /** Milliseconds since the Unix epoch. May jump, in both directions. */
  nowMs(): number
  /** Runs once, later; keeps no program alive. @returns Calls it off. */
  after(ms: number, run: () => void): () => void
}

export interface Random {
  bytes(length: number): Uint8Array<ArrayBuffer>
}

/** Bytes and the name of this writing of them, which no other writing has. */
export interface Kept {
  readonly revision: string
  readonly bytes: Uint8Array
}

/**
 * Named bytes that survive restarts, shared by every tab or process of one client. What must be secret is sealed by
 * whoever puts it there.
 */
export interface Shelf {
  read(name: string): Promise<Kept | undefined>
  /**
   * Whole or not at all: a reader, and whoever starts after a crash, sees the bytes before or after, never a part.
   *
   * @param expected The revision that is replaced, or undefined where there must be none; "any" for whatever is there.
   * @returns The new revision; undefined, and nothing was written, when another is there.
   */
  write(name: string, bytes: Uint8Array, expected: string | undefined | "any"): Promise<string | undefined>
  /** @returns False, and nothing was removed, when another revision is there. What is gone already is true. */
  remove(name: string, expected: string | "any"): Promise<boolean>
}

/** One at a time among everything that shares a shelf. */
export interface Lock {
  /**
   * Waits for its turn, and gives it up when `work` ends, or when the tab or process does.
   *
   * A holder that was frozen may be overtaken: `work` must bear that another runs beside it when it comes back.
   *
   * @throws SignetError LOCK_BUSY when the turn does not come in time.
   */
  run<T>(work: () => Promise<T>): Promise<T>
}

/** Tells the other tabs of this client, in memory only. Messages may be lost. */
export interface Channel {
  post(message: unknown): void
  /** @returns Ends it. */
  subscribe(listener: (message: unknown) => void): () => void
  /** Lets go of what keeps a page from being frozen, until it is resumed; its listeners stay. */
  suspend(): void
  resume(): void
}

/** Calls one service in one protocol. */
export type Wire = (options: { baseUrl: string; fetch?: typeof globalThis.fetch }) => Transport
