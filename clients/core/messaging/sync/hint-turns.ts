import type { SubscribeResponse } from "@signet/proto/messaging/v1/conversation_service"

export type Hint = SubscribeResponse["event"]

interface HintTurns {
  /** Starts to follow a hint, or stores it. Waits while the limit of concurrent hints is reached. */
  take(hint: Hint): Promise<void>
}

/** The most objects whose hints are followed concurrently. */
const maxAtOnce = 32

/**
 * Follows hints, one at a time per object. Of several that arrive meanwhile, only the newest one is followed. Work and
 * memory are bounded for any number of hints.
 *
 * @param follow Never rejects.
 */
export function createHintTurns(follow: (hint: Hint) => Promise<void>): HintTurns {
  /** By object with a running `follow`: the newest hint that arrived since. */
  const later = new Map<string, Hint | undefined>()
  let isFree = () => {}

  async function turn(name: string, first: Hint): Promise<void> {
    for (let hint: Hint | undefined = first; hint !== undefined; ) {
      later.set(name, undefined)
      await follow(hint)
      hint = later.get(name)
    }
    // In the same step as the last look: a hint that arrives between the two would be lost.
    later.delete(name)
    isFree()
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
        later.set(name, newest(later.get(name), hint))
        return
      }
      void turn(name, hint)
    },
  }
}

/** The later hint, unless the earlier one names a newer head: hints can overtake each other. */
function newest(earlier: Hint | undefined, later: Hint): Hint {
  const isOvertaken =
    earlier?.case === "envelopeAvailable" &&
    later.case === "envelopeAvailable" &&
    earlier.value.headSeq > later.value.headSeq
  return isOvertaken ? earlier : later
}

/** The object of a hint; undefined for a hint that needs no work. */
function nameOf({ case: kind, value }: Hint): string | undefined {
  switch (kind) {
    case "envelopeAvailable":
    case "welcomeAvailable":
    case "directiveIssued":
      return `${kind} ${value.conversationId}`
    case "deviceListChanged":
      return `${kind} ${value.userId}`
    case "keyPackageLow":
    case "blockListChanged":
      return kind
    case "heartbeat":
    case undefined:
      return undefined
  }
}
