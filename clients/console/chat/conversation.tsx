import type { ConversationInfo, Messenger, OutboxEntry, TimelineEntry } from "@signet/client-web/messaging"
import { type ReactNode, useEffect, useState } from "react"
import { t } from "../text/chat.ts"
import { Composer } from "./composer.tsx"
import { Details } from "./details.tsx"
import { Stored } from "./stored.tsx"
import { Timeline } from "./timeline.tsx"

interface ConversationProps {
  readonly messenger: Messenger
  readonly own: string
  readonly version: number
  readonly warnings: ReadonlySet<string>
  readonly audience: string
  readonly info: ConversationInfo
  readonly name: string
}

interface Read {
  readonly entries: readonly TimelineEntry[]
  readonly waiting: readonly OutboxEntry[]
}

/** One conversation: what was written, what is being written, and beside it the keys or what the server stores. */
export function Conversation(props: ConversationProps): ReactNode {
  const { messenger, own, version, warnings, audience, info, name } = props
  const [{ entries, waiting }, setRead] = useState<Read>({ entries: [], waiting: [] })
  const [round, setRound] = useState(0)
  const [beside, setBeside] = useState<"people" | "stored">("people")
  // biome-ignore lint/correctness/useExhaustiveDependencies: an event, and an own message, read again.
  useEffect(() => {
    let isCurrent = true
    Promise.all([messenger.timeline(info.id), messenger.outbox(info.id)]).then(
      ([found, queued]) => isCurrent && setRead({ entries: found, waiting: queued }),
      () => {},
    )
    return () => {
      isCurrent = false
    }
  }, [messenger, info.id, version, round])
  const changed = info.memberUserIds.filter((id) => warnings.has(id))
  return (
    <>
      <main className="chat-main">
        <h1>{name}</h1>
        {info.waitsFor && <p className="notice">{t.chat.waitsFor[info.waitsFor]}</p>}
        {(changed.length > 0 || info.asksConfirmation) && (
          <p className="signet-failed" role="alert">
            {t.chat.keysChanged}
          </p>
        )}
        <Timeline messenger={messenger} conversationId={info.id} own={own} entries={entries} waiting={waiting} />
        <Composer messenger={messenger} conversationId={info.id} onSent={() => setRound((last) => last + 1)} />
      </main>
      <aside className="chat-beside" aria-label={t.chat.beside}>
        <div className="tabs">
          {(["people", "stored"] as const).map((one) => (
            <button key={one} type="button" aria-pressed={beside === one} onClick={() => setBeside(one)}>
              {t.chat.sides[one]}
            </button>
          ))}
        </div>
        {beside === "people" ? (
          <Details messenger={messenger} info={info} own={own} version={version} />
        ) : (
          <Stored conversationId={info.id} audience={audience} version={version + round} />
        )}
      </aside>
    </>
  )
}
