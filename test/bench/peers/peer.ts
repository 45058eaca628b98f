// A server that the peers' bench measures, in a process of its own.

export interface Peer {
  readonly name: string
  /** The process, whose children count too. */
  readonly pid: number
  /** By work, such as "client_credentials": the call of a caller. */
  readonly works: ReadonlyMap<string, (caller: number) => Promise<unknown>>
  /** Makes what a work uses up, before it is measured for these seconds. */
  readonly prepare?: (work: string, seconds: number) => Promise<void>
  stop(): Promise<void>
}

export interface PeerOptions {
  /** An empty database on the PostgreSQL that all peers share. */
  readonly databaseUrl: string
  readonly callers: number
}

/** The row of a peer that is not measured. */
export interface Skipped {
  readonly name: string
  readonly skipped: string
}

export const isSkipped = (of: Peer | Skipped): of is Skipped => "skipped" in of
