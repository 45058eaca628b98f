// The events that the app sees. An event is emitted after its facts are stored.

/** A device of a user. */
export interface Person {
  /** `prn_…` */
  readonly userId: string
  /** `dev_…` */
  readonly deviceId: string
}

/** A device with a key that this device had not seen. */
export interface NewKey extends Person {
  /** `newDevice`: a further device of a known user. `changedKey`: a known device has another key. */
  readonly what: "newDevice" | "changedKey"
  /** The user's keys had been compared: compare them again. A `keysChanged` event says so, too. */
  readonly wasVerified: boolean
}

/** An entry of a conversation's timeline, at one sequence number of its log. `timeline` returns it again. */
export type TimelineEntry = {
  readonly seq: bigint
  readonly atMs: number
  /** Present if the entry is from a backup of that time, not from the log. */
  readonly imported?: { readonly backupAtMs: number }
} & (
  | {
      readonly is: "message"
      readonly from: Person
      readonly plaintext: Uint8Array
      /** For an own message: the id that `encryptMessage` or `send` returned. */
      readonly outboxId: string | undefined
      /**
       * The service delivered a later message of the sender first, and a `missing` entry has counted this one. Or it had
       * lost this one, and the sender has sent it again.
       */
      readonly isLate?: true
      /** The user blocks the sender now. An app hides the entry. */
      readonly isFromBlocked?: true
    }
  /** A file. `openAttachment` reads it by this `seq`. */
  | {
      readonly is: "attachment"
      readonly from: Person
      /** Asserted by the sender; empty for none. Never a path. */
      readonly fileName: string
      /** Asserted by the sender; empty for none. */
      readonly mediaType: string
      /** In bytes. */
      readonly size: number
      /** For an own attachment: the id that `sendAttachment` returned. */
      readonly outboxId: string | undefined
      /** As for a message. */
      readonly isLate?: true
      readonly isFromBlocked?: true
    }
  | {
      readonly is: "membership"
      readonly committer: Person
      readonly added: readonly Person[]
      readonly removed: readonly Person[]
    }
  /** A message that cannot be decrypted. */
  | { readonly is: "unreadable"; readonly reason: string }
  /**
   * A warning: the sender wrote `count` messages before its next one, and this device could not read them. The service
   * withheld them, or delivers them later with `isLate`; or they are the `unreadable` ones before it.
   */
  | { readonly is: "missing"; readonly from: Person; readonly count: number }
  /** The device was no member, and cannot read the messages between `afterSeq` and `seq`. */
  | { readonly is: "gap"; readonly afterSeq: bigint }
  /**
   * The conversation continues in a new group, because no online member could add the device that created it. Show this
   * to the user. The history stays. A verified peer must be compared again (`ConversationInfo.asksConfirmation`).
   */
  | {
      readonly is: "reset"
      /** The creator of the new group; undefined if that commit did not add this device. */
      readonly by: Person | undefined
    }
  /**
   * A warning: devices of known users have keys that this device had not seen. It precedes all messages of those
   * devices. Only this kind, `missing` and `gap` may have the `seq` of another entry, which follows them.
   */
  | { readonly is: "newKeys"; readonly devices: readonly NewKey[] }
)

export type ConversationStatus =
  /** Its first commit is not accepted yet. */
  | "creating"
  | "active"
  /** A commit failed its checks. It was rejected and reported. */
  | "quarantined"
  /** The stored state is older than one that was used: rejoin. */
  | "rolledBack"
  /** Waits for key packages or a welcome (see `ConversationInfo.waitsFor`). `send` queues messages. */
  | "waiting"
  /**
   * Waits for a welcome, and no member is left that could send one. The next `sync` resets a direct conversation. A
   * group cannot continue: create another one.
   */
  | "stranded"
  | "leaving"
  | "removed"

export type MessengerEvent =
  | { readonly is: "entry"; readonly conversationId: string; readonly entry: TimelineEntry }
  | {
      readonly is: "status"
      readonly conversationId: string
      readonly status: ConversationStatus
      /** Why it is quarantined. */
      readonly reason: string | undefined
    }
  /**
   * A verified user has keys that were not compared, or device lists that contradict each other. Emitted before any
   * message of those keys; `verification.status` reports it from then on.
   */
  | {
      readonly is: "keysChanged"
      readonly userId: string
      /** The devices with those keys. */
      readonly deviceIds: readonly string[]
      readonly listFault: string | undefined
    }
  /** The users whom this user blocks have changed, on any device. */
  | { readonly is: "blockedUsers"; readonly userIds: readonly string[] }
  /** An own message is stored, and waits for the conversation's group. An `entry` event follows when it is sent. */
  | { readonly is: "queued"; readonly conversationId: string; readonly outboxId: string }
  /**
   * A stored own message will never be sent: the peer is no longer a user of the app, the service refuses it, the user
   * has left with this device or another one, or this device was removed. With STATE_ROLLBACK the store is an older copy
   * of this device's, and the message may have been sent before: it is in the timelines of other devices then.
   */
  | { readonly is: "unsent"; readonly conversationId: string; readonly outboxId: string; readonly error: unknown }
  /**
   * Background work failed. It is retried, unless the service refuses it (a `FailureReason`) or this device is no member
   * any more (CONVERSATION_NOT_ACTIVE).
   */
  | { readonly is: "failed"; readonly conversationId: string | undefined; readonly error: unknown }
  /** The reader of this stream was too slow and missed events. `timeline` has the entries. */
  | { readonly is: "lagged" }

const maxWaiting = 10_000

export interface Events {
  emit(event: MessengerEvent): void
  /** @returns A function that ends the subscription. */
  subscribe(listener: (event: MessengerEvent) => void): () => void
  /** Events from now on, until the signal or the messenger ends it. */
  stream(signal?: AbortSignal): AsyncIterable<MessengerEvent>
  close(): void
}

export function createEvents(): Events {
  const listeners = new Set<(event: MessengerEvent) => void>()
  const closings = new Set<() => void>()
  const events: Events = {
    emit(event) {
      for (const listener of [...listeners]) {
        try {
          listener(event)
        } catch (error) {
          // A listener's error must not affect the messenger, whose change is stored already.
          queueMicrotask(() => {
            throw error
          })
        }
      }
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stream(signal) {
      // Subscribes now, not at the first read.
      const waiting: MessengerEvent[] = []
      let isOpen = true
      let wake = () => {}
      const end = () => {
        isOpen = false
        stop()
        wake()
      }
      const stop = events.subscribe((event) => {
        if (waiting.length === maxWaiting) waiting.push({ is: "lagged" })
        if (waiting.length < maxWaiting) waiting.push(event)
        wake()
      })
      closings.add(end)
      signal?.addEventListener("abort", end, { once: true })
      if (signal?.aborted) end()
      return (async function* () {
        try {
          while (isOpen || waiting.length > 0) {
            const next = waiting.shift()
            if (next !== undefined) yield next
            else {
              await new Promise<void>((resolve) => {
                wake = resolve
              })
            }
          }
        } finally {
          end()
          closings.delete(end)
        }
      })()
    },
    close() {
      for (const end of [...closings]) end()
      listeners.clear()
    },
  }
  return events
}
