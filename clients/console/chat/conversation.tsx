import type { ConversationInfo, Messenger } from "@signet/client-web/messaging"
import { useAction } from "@signet/react/core"
import { type ReactNode, useEffect, useState } from "react"
import { t } from "../text/chat.ts"
import type { Backend } from "./backends.ts"
import { Composer } from "./composer.tsx"
import { Members } from "./keys/members.tsx"
import { Problem } from "./problem.tsx"
import { Stored } from "./stored.tsx"
import { Timeline } from "./timeline.tsx"
import type { Observed } from "./use-messenger.ts"
import { useTimeline } from "./use-timeline.ts"

interface ConversationProps {
  readonly messenger: Messenger
  readonly own: string
  readonly observed: Observed
  readonly isOnline: boolean
  readonly audience: string
  readonly backend: Backend
  readonly info: ConversationInfo
  readonly name: string
  readonly onBack: () => void
}

const sides = ["people", "stored"] as const

/** One conversation: what was written, what is being written, and beside it the keys or what the server stores. */
export function Conversation(props: ConversationProps): ReactNode {
  const { messenger, own, observed, isOnline, audience, backend, info, name, onBack } = props
  const { version, keyVersion, neverSent } = observed
  const [round, setRound] = useState(0)
  const written = useTimeline(messenger, info, version + round)
  const [beside, setBeside] = useState<(typeof sides)[number]>("people")
  const [compared, setCompared] = useState(0)
  const changed = useChangedKeys(messenger, info, keyVersion + compared)
  const rejoin = useAction(() => messenger.rejoin(info.id))
  const hasChangedKeys = changed || info.asksConfirmation
  return (
    <>
      <main className="chat-main" tabIndex={-1}>
        <div className="chat-head">
          <button type="button" className="signet-button chat-back" onClick={onBack}>
            {t.chat.back}
          </button>
          <h1>{name}</h1>
          <a className="chat-to-details" href="#beside">
            {t.chat.details}
          </a>
        </div>
        {info.waitsFor && <p className="notice">{t.chat.waitsFor[info.waitsFor]}</p>}
        {(info.status === "quarantined" || info.status === "rolledBack") && (
          <div className="signet-failed" role="alert">
            <p>{t.chat.states[info.status]}</p>
            <button type="button" className="signet-button" onClick={() => rejoin.run()}>
              {t.chat.rejoin}
            </button>
            <Problem error={rejoin.error} />
          </div>
        )}
        <Timeline messenger={messenger} conversationId={info.id} own={own} written={written} />
        {neverSent.has(info.id) && (
          <p className="signet-failed" role="alert">
            {t.chat.neverSent(reasonOf(neverSent.get(info.id)))}
          </p>
        )}
        {info.status === "removed" ? (
          <p className="notice">{t.chat.ended}</p>
        ) : (
          <Composer
            {...{ messenger, info, isOnline, hasChangedKeys }}
            onCompare={() => {
              setBeside("people")
              document.getElementById("beside")?.scrollIntoView()
              document.getElementById("beside")?.focus()
            }}
            onSent={() => setRound((last) => last + 1)}
          />
        )}
      </main>
      <aside className="chat-beside" id="beside" tabIndex={-1} aria-label={t.chat.beside}>
        <div className="tabs">
          {sides.map((one) => (
            <button key={one} type="button" aria-pressed={beside === one} onClick={() => setBeside(one)}>
              {t.chat.sides[one]}
            </button>
          ))}
        </div>
        {beside === "people" ? (
          <Members {...{ messenger, info, own, observed }} onCompared={() => setCompared((last) => last + 1)} />
        ) : (
          <Stored conversation={info} {...{ messenger, audience, backend }} version={version + round} />
        )}
      </aside>
    </>
  )
}

/** True if a member's keys differ from the compared ones, by what this device has stored. */
function useChangedKeys(messenger: Messenger, info: ConversationInfo, version: number): boolean {
  const [hasChanged, setChanged] = useState(false)
  const people = info.memberUserIds.join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: an event can change the keys.
  useEffect(() => {
    let isCurrent = true
    Promise.all(people.split(",").map((id) => messenger.verification.status(id))).then(
      (found) => isCurrent && setChanged(found.includes("changed")),
      () => {},
    )
    return () => {
      isCurrent = false
    }
  }, [messenger, people, version])
  return hasChanged
}

const reasonOf = (error: unknown): string =>
  error instanceof Error && "reason" in error ? String(error.reason) : error instanceof Error ? error.message : "?"
