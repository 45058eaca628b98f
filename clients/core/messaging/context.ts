import type { Verify } from "@signet/canonical/ed25519"
import type { Clock, Random } from "../ports.ts"
import type { Calls } from "./calls.ts"
import type { OwnDevice } from "./device/device.ts"
import type { Issuer } from "./device/issuer.ts"
import type { MessengerEvent, TimelineEntry } from "./events.ts"
import type { Engine } from "./mls.ts"
import type { MessagingSession, Owner } from "./session.ts"
import type { Door } from "./state/door.ts"
import type { SealedRows } from "./store/sealed-rows.ts"
import type { MessagingStore } from "./store/store.ts"

/** What the parts of a messenger share. */
export interface Context {
  readonly clock: Clock
  readonly random: Random
  readonly engine: Engine
  readonly verify: Verify
  readonly store: MessagingStore
  readonly rows: SealedRows
  readonly calls: Calls
  readonly owner: Owner
  readonly session: MessagingSession
  readonly device: OwnDevice
  readonly issuer: Issuer
  /** How many key packages there should be after a refill; the service says when they are few. */
  readonly keyPackageTarget: number
  /** Nothing is sent where a member's keys are others than those that were compared. */
  readonly refusesChangedKeys: boolean
  /** Whether there ever was anything of it here. What others name is asked for so, before it is given a door. */
  has(conversationId: string): Promise<boolean>
  /** The one way to a conversation's state. It stays as long as the messenger. */
  door(conversationId: string): Door
  /** Work on the network for one conversation, one after the other. */
  lane<T>(conversationId: string, work: () => Promise<T>): Promise<T>
  /** Wipes the secrets that are in memory, once nothing can be stored any more: nothing is sent that was not. */
  forget(): Promise<void>
  emit(event: MessengerEvent): void
  /** Entries of a conversation from now on. */
  record(conversationId: string): { readonly entries: readonly TimelineEntry[]; readonly end: () => void }
  /** Does the work. @returns The first event meanwhile that fits; undefined for none. */
  hear(fits: (event: MessengerEvent) => boolean, work: () => Promise<void>): Promise<MessengerEvent | undefined>
}

export const nowSeconds = ({ clock }: Pick<Context, "clock">): number => Math.floor(clock.nowMs() / 1_000)
