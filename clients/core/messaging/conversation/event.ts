// Events of a conversation and the effects of the decisions about them. Decisions are pure; interpreters run the
// effects.
import type { AttachmentManifest } from "@signet/proto/client/v1/attachment"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import type { Verdict } from "../checks/verdict.ts"
import type { Person, TimelineEntry } from "../events.ts"
import type { GroupState } from "../mls.ts"
import type { PendingChange } from "../state/pending-rows.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"

/** The origin of envelopes: the log of the service, or any caller. */
export type Source = "log" | "caller"

/** An envelope and the facts that a decision about it needs. */
export interface Arrival {
  readonly envelope: Envelope
  readonly source: Source
  /** True if the service names this device as the sender. */
  readonly isOwn: boolean
  /** True if the issuer keys were requested for this batch already. */
  readonly hasFreshKeys: boolean
  /** True if the batch has changed the state. */
  readonly hasAdvanced: boolean
  /** True if the log has no envelope between this one and the one before, or the last one that was read. */
  readonly isNextInLog: boolean
}

/** The position of an entry, and the time when the service accepted the envelope: Unix milliseconds. */
export type At = Pick<TimelineEntry, "seq" | "atMs">

/** The outcome of a verified commit. */
export type CommitOutcome =
  | {
      readonly is: "epoch"
      readonly group: GroupState
      readonly treeHash: Uint8Array
      readonly committer: Person
      readonly added: readonly Person[]
      readonly removed: readonly Person[]
      /** Present for the staged commit. `nowSeconds`: the time of the new leaf keys. */
      readonly own?: { readonly isReset: boolean; readonly asksConfirmation: boolean; readonly nowSeconds: number }
    }
  /** The commit removed this device. */
  | { readonly is: "removed"; readonly committer: Person; readonly removed: readonly Person[] }
  /** Another device has begun another group. */
  | { readonly is: "reset"; readonly mlsGroupId: Uint8Array; readonly asksConfirmation: boolean }

/** Events of one transaction. */
export type EnvelopeEvent = { readonly arrival: Arrival } & (
  | { readonly on: "envelope" }
  | {
      readonly on: "opened"
      /** Undefined for a message that was sent again, and read before. */
      readonly entry: TimelineEntry | undefined
      /** Key of the row by which a second copy of a message that was sent again is recognized. */
      readonly resent?: string | undefined
      /** Earlier messages of the sender that were not read. */
      readonly missing: TimelineEntry | undefined
      readonly manifest: AttachmentManifest | undefined
      /** The outbox item of an own message; then the ratchet has not moved. */
      readonly ownItem: string | undefined
      readonly next: { readonly group: GroupState; readonly wipe: () => void } | undefined
    }
  | {
      readonly on: "verified"
      readonly receipt: { readonly hash: Uint8Array; readonly acceptedAtMs: bigint }
      readonly outcome: CommitOutcome
      /** Wipes the epoch that ended. */
      readonly wipe: () => void
    }
  | { readonly on: "rejected"; readonly verdict: Verdict }
)

/** Why a batch ends: at its end, or before an envelope whose verification needs newer issuer keys. */
export type End = "end" | "needsIssuerKeys"

/** A part of the draft of one transaction. */
export type DraftPart =
  | { readonly do: "entry"; readonly entry: TimelineEntry }
  /** Stores an entry, and emits no event. */
  | { readonly do: "storeEntry"; readonly entry: TimelineEntry }
  | { readonly do: "putManifest"; readonly seq: bigint; readonly manifest: AttachmentManifest }
  | { readonly do: "markResent"; readonly key: string }
  | { readonly do: "changePending"; readonly change: PendingChange }
  /** Drops every message and every requested change that waits, and reports each. */
  | { readonly do: "dropPending" }
  /**
   * Drops the messages that wait and were written up to this time, in milliseconds since the Unix epoch, and reports
   * each: a newer state than the stored one may have sent them.
   */
  | { readonly do: "dropUncertain"; readonly untilMs: number }
  /** Announces keys that were never seen in the conversation. */
  | { readonly do: "seeKeys"; readonly before: StoredConversation; readonly group: GroupState; readonly at: At }
  /** Marks verified users whose keys nobody has compared. */
  | { readonly do: "noticeKeys"; readonly group: GroupState }
  /** Performed only after the transaction has succeeded. */
  | { readonly do: "wipe"; readonly wipe: () => void }

/** Effects within one transaction. An engine call produces the next event. */
export type DraftEffect =
  | DraftPart
  | { readonly do: "openMessage" }
  | { readonly do: "verifyCommit" }
  | { readonly do: "end"; readonly why: End }

export interface Decision<Effect> {
  readonly state: StoredConversation
  /** Performed in this order. */
  readonly effects: readonly Effect[]
}
