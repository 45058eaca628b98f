/** Defects that verification of the audit log can find. */
type FlawKind =
  /** The event differs from the one that was linked. */
  | "EVENT_CHANGED"
  /** The linked event does not exist. */
  | "EVENT_MISSING"
  /** The stamp was not made with one of the service's keys. */
  | "EVENT_FORGED"
  /** The event has no stamp but was linked after stamps were introduced. */
  | "EVENT_UNSTAMPED"
  /** The event is old enough to be linked but is in no chain. */
  | "EVENT_UNLINKED"
  /** The link's hash does not follow from the previous link. */
  | "LINK_CHANGED"
  | "LINK_MISSING"
  /** The link is at another link's position, or its event belongs to another chain. */
  | "LINK_REORDERED"
  /** The chain is shorter than a checkpoint says. */
  | "TAIL_CUT"
  /** A checkpoint names a chain that does not exist. */
  | "CHAIN_MISSING"
  /** The chain is consistent but differs from a checkpoint. */
  | "CHAIN_REWRITTEN"
  | "CHECKPOINT_CHANGED"
  | "CHECKPOINT_MISSING"
  /** The database treats a sealing key's stamps as valid although an event says that the key was retired. */
  | "STAMP_KEY_RESTORED"

/** One defect and its position. */
export interface Flaw {
  readonly what: FlawKind
  readonly shard: string | null
  readonly seq: bigint | null
  readonly eventId: string | null
  readonly checkpoint: bigint | null
}

const nowhere = { shard: null, seq: null, eventId: null, checkpoint: null }
export const flaw = (what: FlawKind, at: Partial<Omit<Flaw, "what">>): Flaw => ({ ...nowhere, ...at, what })

/** Verification collects at most this many flaws. The first one of a chain matters most. */
export const maxFlaws = 100
