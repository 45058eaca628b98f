import type { Hint, MissedHints, Wakeups } from "@signet/kernel/messaging/wakeups"
import { type Bus, type BusOptions, createPostgresBus } from "./bus.ts"
import { createHub } from "./hub.ts"
import { createPoll } from "./poll.ts"

interface WakeupsOptions {
  /** The other processes on the same database; null for a single process. */
  readonly others: {
    /** Returns the URL of the primary, at each connection. */
    readonly findDatabase: () => Promise<string>
    /** Identifies this process: letters and digits, unique among the processes. */
    readonly origin: string
    readonly missed: MissedHints
    /** How long a hint waits for others to share its notification, in milliseconds. */
    readonly gatherMs?: number
    /** Default: a connection of its own to PostgreSQL. */
    readonly openBus?: ((options: BusOptions) => Bus) | undefined
  } | null
  onError(error: unknown): void
}

export interface OpenWakeups extends Wakeups {
  /** Notifies other processes that the revocation log has grown. */
  announceRevocations(): void
  /** Calls the listener when another process has, or may have, announced a growth: notifications can be lost. */
  onRevocations(listener: () => void): void
  close(): Promise<void>
}

export function createWakeups({ others, onError }: WakeupsOptions): OpenWakeups {
  const hub = createHub(onError)
  const listeners: (() => void)[] = []
  const onRevocations = () => {
    for (const listener of listeners) listener()
  }
  const remote = others && withOthers(others, { hub, onRevocations }, onError)
  return {
    publish(hints) {
      remote?.bus.send(hints)
      for (const hint of hints) {
        remote?.poll.record(hint)
        hub.deliver(hint)
      }
    },

    subscribe(interest, listener) {
      const subscription = hub.add(interest, listener)
      return { update: (next) => hub.update(subscription, next), close: () => hub.remove(subscription) }
    },

    announceRevocations: () => remote?.bus.send([{ is: "revocations" }]),

    onRevocations(listener) {
      listeners.push(listener)
    },

    async close() {
      await remote?.poll.stop()
      await remote?.bus.close()
    },
  }
}

function withOthers(
  { findDatabase, origin, missed, gatherMs, openBus = createPostgresBus }: NonNullable<WakeupsOptions["others"]>,
  { hub, onRevocations }: { readonly hub: ReturnType<typeof createHub>; onRevocations(): void },
  onError: (error: unknown) => void,
) {
  const bus: Bus = openBus({
    findDatabase,
    origin,
    ...(gatherMs === undefined ? {} : { gatherMs }),
    onHints(hints) {
      for (const hint of hints) {
        if (hint.is === "revocations") onRevocations()
        else {
          poll.record(hint)
          hub.deliver(hint)
        }
      }
    },
    onListening() {
      // Hints were lost while the connection was down, so every stream reads its memberships again.
      for (const { interest } of [...hub.subscriptions]) {
        const hint: Hint = { is: "member", deviceId: interest.deviceId }
        hub.deliver(hint)
      }
      poll.heads().catch(onError)
      onRevocations()
    },
    onError,
  })
  const poll = createPoll({ hub, missed, isListening: bus.isListening, onError })
  poll.start()
  return { bus, poll }
}
