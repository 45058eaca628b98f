import type { ConversationInfo, Messenger, MessengerEvent } from "@signet/client-web/messaging"
import { useEffect, useState } from "react"

export interface Observed {
  readonly conversations: readonly ConversationInfo[]
  /** Increases with every event, so that what is shown is read again. */
  readonly version: number
  /** Increases when devices or keys may have changed. */
  readonly keyVersion: number
  /** Why messages will never be sent, by their conversation. */
  readonly neverSent: ReadonlyMap<string, unknown>
  /** Users whom this user blocks. */
  readonly blocked: readonly string[]
}

/** Follows the messenger: reads its conversations again after every event, also of another tab. */
export function useMessenger(messenger: Messenger): Observed {
  const [version, setVersion] = useState(0)
  const [keyVersion, setKeyVersion] = useState(0)
  const [neverSent, setNeverSent] = useState<ReadonlyMap<string, unknown>>(new Map())
  const [read, setRead] = useState<Pick<Observed, "conversations" | "blocked">>({ conversations: [], blocked: [] })
  useEffect(() => {
    const notice = (event: MessengerEvent) => {
      if (event.is === "unsent") setNeverSent((last) => new Map(last).set(event.conversationId, event.error))
      if (mayChangeKeys(event)) setKeyVersion((last) => last + 1)
      setVersion((last) => last + 1)
    }
    return messenger.subscribe(notice)
  }, [messenger])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version reads again.
  useEffect(() => {
    let isCurrent = true
    Promise.all([messenger.conversations(), messenger.blockedUsers()]).then(
      ([conversations, blocked]) => isCurrent && setRead({ conversations, blocked }),
      // A closed messenger has nothing to read.
      () => {},
    )
    return () => {
      isCurrent = false
    }
  }, [messenger, version])
  return { ...read, version, keyVersion, neverSent }
}

/** Reading keys is a request to the service, so that a message is no reason for it. */
const mayChangeKeys = (event: MessengerEvent): boolean =>
  event.is === "entry"
    ? event.entry.is === "membership" || event.entry.is === "newKeys" || event.entry.is === "reset"
    : event.is !== "queued" && event.is !== "failed"

/** True while the browser has a connection. Afterwards the messenger sends at once what waits. */
export function useOnline(messenger: Messenger): boolean {
  const [isOnline, setOnline] = useState(navigator.onLine)
  useEffect(() => {
    const notice = () => {
      setOnline(navigator.onLine)
      // `run` tries again, too, after its pause.
      if (navigator.onLine) messenger.sync().catch(() => undefined)
    }
    addEventListener("online", notice)
    addEventListener("offline", notice)
    return () => {
      removeEventListener("online", notice)
      removeEventListener("offline", notice)
    }
  }, [messenger])
  return isOnline
}
