import type { Blocks } from "./blocking.ts"
import type { Calls } from "./calls.ts"
import type { Suite } from "./crypto/suite.ts"
import type { Ambient, Reports, Storage, Trust } from "./deps.ts"
import type { OwnDevice } from "./device/device.ts"
import type { MessengerEvent, TimelineEntry } from "./events.ts"
import type { Engine } from "./mls.ts"
import type { MessagingSession } from "./session.ts"
import type { ConversationState } from "./state/conversation-state.ts"

/** The dependencies of a messenger's procedures. A procedure that needs fewer takes the types in `deps.ts`. */
export interface Context extends Ambient, Storage, Trust, Reports {
  readonly engine: Engine
  readonly suite: Suite
  readonly calls: Calls
  readonly session: MessagingSession
  readonly blocks: Blocks
  readonly device: OwnDevice
  /** The number of key packages at the service after a refill. The service reports when they are few. */
  readonly keyPackageTarget: number
  /** True if a send fails while a member has keys that the user has not compared. */
  readonly refusesChangedKeys: boolean
  /** True if this device has a record of the conversation. Checked before an id from the service gets a handle. */
  has(conversationId: string): Promise<boolean>
  /** The handle of a conversation: one per id, for the lifetime of the messenger. */
  conversation(conversationId: string): Conversation
  /** Runs work in the turn of a conversation without a handle: this device may not have the conversation. */
  inTurnFor<T>(conversationId: string, work: () => Promise<T>): Promise<T>
  /** Wipes the secrets in memory, after the store has closed: no unstored message can be sent. */
  wipeAll(): Promise<void>
  /** Collects the new entries of a conversation until `end`. */
  recordEntries(conversationId: string): { readonly entries: readonly TimelineEntry[]; readonly end: () => void }
  /** Runs the work. @returns The first matching event during the work; undefined without one. */
  hear(fits: (event: MessengerEvent) => boolean, work: () => Promise<void>): Promise<MessengerEvent | undefined>
}

/** A conversation whose envelopes are read: its id and the dependencies of the checks. */
export interface ReadConversation extends Context {
  /** `cnv_…` */
  readonly id: string
}

/** A conversation of this device: its id, its state and the messenger's dependencies. */
export interface Conversation extends ReadConversation, ConversationState {
  /** Runs work that changes the conversation at the service, serialized across tabs. Reading needs no turn. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
}
