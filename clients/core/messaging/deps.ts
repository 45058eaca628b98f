import type { Verify } from "@signet/canonical/ed25519"
import type { Clock, Random } from "../ports.ts"
import type { Issuer } from "./device/issuer.ts"
import type { MessengerEvent } from "./events.ts"
import type { Owner } from "./session.ts"
import type { SealedRows } from "./store/sealed-rows.ts"
import type { MessagingStore } from "./store/store.ts"

/** Time and randomness of the platform. */
export interface Ambient {
  readonly clock: Clock
  readonly random: Random
}

/** The local store, and the codec that seals its rows. */
export interface Storage {
  readonly store: MessagingStore
  readonly rows: SealedRows
}

/** The issuer keys and the owner that signed bytes are verified against. */
export interface Trust {
  readonly verify: Verify
  readonly issuer: Issuer
  readonly owner: Owner
}

/** Reports events to the app. */
export interface Reports {
  emit(event: MessengerEvent): void
}

export const nowSeconds = ({ clock }: Pick<Ambient, "clock">): number => Math.floor(clock.nowMs() / 1_000)
