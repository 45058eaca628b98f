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

/** What happened at one place of a conversation's log; read again with `timeline`. */
export type TimelineEntry = { readonly seq: bigint; readonly atMs: number } & (
  | {
      readonly is: "message"
      readonly from: Person
      readonly plaintext: Uint8Array
      /** Of an own message: what `encryptMessage` or `send` called it. */
      readonly outboxId: string | undefined
    }
  /** A file. `openAttachment` reads it, by this place. */
  | {
      readonly is: "attachment"
      readonly from: Person
      /** As the sender says; empty for none. Never a path. */
      readonly fileName: string
      /** As the sender says; empty for none. */
      readonly mediaType: string
      /** In bytes. */
      readonly size: number
      /** Of an own one: what `sendAttachment` answered. */
      readonly outboxId: string | undefined
    }
  | {
      readonly is: "membership"
      readonly committer: Person
      readonly added: readonly Person[]
      readonly removed: readonly Person[]
    }
  /** Somebody's message that does not open. */
  | { readonly is: "unreadable"; readonly reason: string }
  /** The device was not in, and never reads what came after that place and before this one. */
  | { readonly is: "gap"; readonly afterSeq: bigint }
  /**
   * A break: the conversation goes on in a new group, since nobody who was online could add the device that began it.
   * Show it. The history before it stays; a verified peer is to be compared again (`ConversationInfo.asksConfirmation`).
   */
  | {
      readonly is: "reset"
      /** Who began the new group; undefined where this device was not added by that commit. */
      readonly by: Person | undefined
    }
  /**
   * A warning: devices of known users have keys that this device had not seen. Comes before everything that those devices
   * write. Only this kind and `gap` may have the `seq` of another entry, which follows them.
   */
  | { readonly is: "newKeys"; readonly devices: readonly NewKey[] }
)

export type ConversationStatus =
  /** Its first commit is not accepted yet. */
  | "creating"
  | "active"
  /** A commit did not pass its checks. It was not accepted, and it was reported. */
  | "quarantined"
  /** The state is older than one that was used. */
  | "rolledBack"
  /** Waits for key packages or for a welcome: `ConversationInfo.waitsFor` says for which. `send` queues. */
  | "waiting"
  /**
   * Waits for a welcome, and no member is left that could send one. A direct conversation is reset by the next `sync`;
   * a group cannot go on: create another one.
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
   * A user who was verified has keys that nobody has compared, or lists that contradict each other. Told before anything
   * that those keys say; `verification.status` has it from then on.
   */
  | {
      readonly is: "keysChanged"
      readonly userId: string
      /** Whose keys they are. */
      readonly deviceIds: readonly string[]
      readonly listFault: string | undefined
    }
  /** An own message is stored, and waits for the conversation's group. Its `entry` tells that it was sent. */
  | { readonly is: "queued"; readonly conversationId: string; readonly outboxId: string }
  /** An own message that waited will never be sent: the peer is no user of the app any more, or the message is refused. */
  | { readonly is: "unsent"; readonly conversationId: string; readonly outboxId: string; readonly error: unknown }
  /** Something that was tried in the background did not work; it is tried again. */
  | { readonly is: "failed"; readonly conversationId: string | undefined; readonly error: unknown }
  /** A reader of the stream did not keep up, and missed what `timeline` still has. */
  | { readonly is: "lagged" }

const maxWaiting = 10_000

export interface Events {
  emit(event: MessengerEvent): void
  /** @returns Ends it. */
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
          // The listener's own affair: what it was told of has happened.
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
      // Heard from now on, and not from the first read on.
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
