import type { ConversationInfo, Messenger, MessengerEvent } from "@signet/client-web/messaging"
import { useEffect, useState } from "react"

export interface Observed {
  readonly conversations: readonly ConversationInfo[]
  /** Increases with every event, so that what is shown is read again. */
  readonly version: number
  /** Users whose keys have changed since they were compared. */
  readonly warnings: ReadonlySet<string>
}

/** Follows the messenger: reads its conversations again after every event, also of another tab. */
export function useMessenger(messenger: Messenger): Observed {
  const [version, setVersion] = useState(0)
  const [conversations, setConversations] = useState<readonly ConversationInfo[]>([])
  const [warnings, setWarnings] = useState<ReadonlySet<string>>(new Set())
  useEffect(() => {
    const notice = (event: MessengerEvent) => {
      if (event.is === "keysChanged") setWarnings((last) => new Set([...last, event.userId]))
      setVersion((last) => last + 1)
    }
    return messenger.subscribe(notice)
  }, [messenger])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version reads again.
  useEffect(() => {
    let isCurrent = true
    messenger.conversations().then(
      (found) => isCurrent && setConversations(found),
      // A closed messenger has nothing to read.
      () => {},
    )
    return () => {
      isCurrent = false
    }
  }, [messenger, version])
  return { conversations, version, warnings }
}
