/** What may be wrong with a chain. */
export type FlawKind =
  /** The event is not what was linked. */
  | "EVENT_CHANGED"
  /** The event is gone. */
  | "EVENT_MISSING"
  /** The service has not written the event: its stamp is not the service's. */
  | "EVENT_FORGED"
  /** An event without a stamp, of after there were stamps. */
  | "EVENT_UNSTAMPED"
  /** The event is in no chain although it is old enough to be. */
  | "EVENT_UNLINKED"
  /** The link does not follow from the one before it. */
  | "LINK_CHANGED"
  | "LINK_MISSING"
  /** The link is in another one's place, or its event in another chain. */
  | "LINK_REORDERED"
  /** The chain ends before a checkpoint says. */
  | "TAIL_CUT"
  /** A checkpoint tells of a chain that is not there at all. */
  | "CHAIN_MISSING"
  /** The chain is whole, and another than a checkpoint says. */
  | "CHAIN_REWRITTEN"
  | "CHECKPOINT_CHANGED"
  | "CHECKPOINT_MISSING"
  /** An event tells of a sealing key's end, and the database says that its stamps count on. */
  | "STAMP_KEY_RESTORED"

/** What is wrong, and where. */
export interface Flaw {
  readonly what: FlawKind
  readonly shard: string | null
  readonly seq: bigint | null
  readonly eventId: string | null
  readonly checkpoint: bigint | null
}

const nowhere = { shard: null, seq: null, eventId: null, checkpoint: null }
export const flaw = (what: FlawKind, at: Partial<Omit<Flaw, "what">>): Flaw => ({ ...nowhere, ...at, what })

/** More are not collected: the first one of a chain is what matters. */
export const mostFlaws = 100
