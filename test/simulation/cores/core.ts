import type { Transport } from "@connectrpc/connect"
import type { Suite } from "../../../clients/core/messaging/crypto/suite.ts"
import type { Messenger } from "../../../clients/core/messaging/messenger.ts"
import type { EngineOptions, openEngine } from "../../../clients/core/messaging/mls.ts"
import type { MessagingStore } from "../../../clients/core/messaging/store/store.ts"
import type { SecretBox } from "../../../clients/core/secret-box.ts"
import type { Feature } from "../features.ts"
import type { Schedule } from "../schedule.ts"
import type { Seeded } from "../seeded.ts"
import type { History } from "./history.ts"
import type { Lane } from "./turns.ts"

/** The parts of a process's host. */
export interface Hosting {
  readonly device: string
  readonly lane: Lane
  readonly schedule: Schedule
  readonly history: History
  readonly session: { readonly appId: string; readonly userId: string }
  readonly rootKey: Uint8Array
  readonly token: () => string
  readonly transport: Transport
  readonly store: MessagingStore
  readonly box: SecretBox
  /** All random bytes of the device come from it. */
  readonly random: Seeded
  /** Of a messenger in Node. It draws from the same source, and both are watched. */
  readonly suite: Suite
  readonly watched: (options: EngineOptions) => Awaited<ReturnType<typeof openEngine>>
}

/** The place of a run's messengers: Node, or an engine. */
export interface Core {
  /** True if invariants that look inside a messenger are checked. */
  readonly isWatched: boolean
  /** Opens the messenger of a process. It is called in turns of its lane. */
  open(hosting: Hosting): Promise<Messenger>
}

/**
 * Features that compared runs do not have. A second tab stands still within an operation, which is no turn. The others call
 * functions beside the messenger, which find the messenger of this process only, and files are encrypted in threads.
 */
export const notCompared: readonly Feature[] = ["tabs", "attachments", "pairing", "backup"]

export const baseUrl = "https://messaging.example"
export const platform = "simulated"
export const keyPackages = 3
