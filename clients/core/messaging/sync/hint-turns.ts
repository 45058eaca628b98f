import type { SubscribeResponse } from "@signet/proto/messaging/v1/conversation_service"

export type Hint = SubscribeResponse["event"]

export interface HintTurns {
  /** Begins to follow a hint, or remembers it. Waits while there is too much to do already. */
  take(hint: Hint): Promise<void>
}

/** Hints of different things that are followed at the same time. */
const maxAtOnce = 32

/**
 * Follows hints, those of one thing one after the other: of several that come meanwhile the last one says all. However
 * many a service sends, what is done for them at a time, and remembered, is bounded.
 *
 * @param follow never rejects.
 */
export function createHintTurns(follow: (hint: Hint) => Promise<void>): HintTurns {
  /** Of each thing that is followed, the hint that came last meanwhile. */
  const later = new Map<string, Hint | undefined>()
  let isFree = () => {}

  async function turn(name: string, first: Hint): Promise<void> {
    for (let hint: Hint | undefined = first; hint !== undefined; ) {
      later.set(name, undefined)
      await follow(hint)
      hint = later.get(name)
    }
  }

  return {
    async take(hint) {
      const name = nameOf(hint)
      if (name === undefined) return
      while (!later.has(name) && later.size >= maxAtOnce) {
        await new Promise<void>((resolve) => {
          isFree = resolve
        })
      }
      if (later.has(name)) {
        later.set(name, hint)
        return
      }
      void turn(name, hint).finally(() => {
        later.delete(name)
        isFree()
      })
    },
  }
}

/** What a hint is about; undefined for one that there is nothing to do for. */
function nameOf({ case: kind, value }: Hint): string | undefined {
  switch (kind) {
    case "envelopeAvailable":
    case "welcomeAvailable":
    case "directiveIssued":
      return `${kind} ${value.conversationId}`
    case "deviceListChanged":
      return `${kind} ${value.userId}`
    case "keyPackageLow":
      return kind
    case "heartbeat":
    case undefined:
      return undefined
  }
}
