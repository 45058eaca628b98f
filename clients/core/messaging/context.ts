import type { Calls } from "./calls.ts"
import type { Ambient, Reports, Storage, Trust } from "./deps.ts"
import type { OwnDevice } from "./device/device.ts"
import type { MessengerEvent, TimelineEntry } from "./events.ts"
import type { Engine } from "./mls.ts"
import type { MessagingSession } from "./session.ts"
import type { ConversationState } from "./state/conversation-state.ts"

/** Everything that the procedures of a messenger share. A part that needs less takes one of the types in `deps.ts`. */
export interface Context extends Ambient, Storage, Trust, Reports {
  readonly engine: Engine
  readonly calls: Calls
  readonly session: MessagingSession
  readonly device: OwnDevice
  /** How many key packages there should be after a refill; the service says when they are few. */
  readonly keyPackageTarget: number
  /** Nothing is sent where a member's keys are others than those that were compared. */
  readonly refusesChangedKeys: boolean
  /** True if this device has stored anything of the conversation. Checked before a name from the service gets a handle. */
  has(conversationId: string): Promise<boolean>
  /** The handle of a conversation: one for each id, as long as the messenger. */
  conversation(conversationId: string): Conversation
  /** Runs work in the turn of a conversation that is perhaps not here, without a handle for it. */
  inTurnFor<T>(conversationId: string, work: () => Promise<T>): Promise<T>
  /** Wipes the secrets that are in memory, once nothing can be stored any more: nothing is sent that was not. */
  wipeAll(): Promise<void>
  /** Entries of a conversation from now on. */
  recordEntries(conversationId: string): { readonly entries: readonly TimelineEntry[]; readonly end: () => void }
  /** Does the work. @returns The first event meanwhile that fits; undefined for none. */
  hear(fits: (event: MessengerEvent) => boolean, work: () => Promise<void>): Promise<MessengerEvent | undefined>
}

/** One conversation of this device: its id, the one way to its state, and everything that its procedures share. */
export interface Conversation extends Context, ConversationState {
  /** `cnv_…` */
  readonly id: string
  /** Runs work that changes the service, one after the other, also among tabs. Reading needs no turn. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
}
