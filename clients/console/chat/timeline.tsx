import type { Messenger, TimelineEntry } from "@signet/client-web/messaging"
import { type ReactNode, useEffect, useRef } from "react"
import { t } from "../text/chat.ts"
import { Attachment } from "./attachment.tsx"
import { short } from "./short.ts"
import type { Written } from "./use-timeline.ts"

interface TimelineProps {
  readonly messenger: Messenger
  readonly conversationId: string
  readonly own: string
  readonly written: Written
}

const time = new Intl.DateTimeFormat(undefined, { timeStyle: "short" })
const textOf = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes)

/** The entries of a conversation, and what waits to be sent. Messages of blocked people are counted, not shown. */
export function Timeline({ messenger, conversationId, own, written }: TimelineProps): ReactNode {
  const { entries: all, waiting, showEarlier } = written
  const entries = all.filter((entry) => !("isFromBlocked" in entry))
  const end = useRef<HTMLLIElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new entry scrolls into view.
  useEffect(() => {
    void end.current?.scrollIntoView({ block: "nearest" })
  }, [entries.length, waiting.length])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by the keyboard.
    <ol className="timeline" aria-label={t.chat.messages} aria-live="polite" tabIndex={0}>
      {showEarlier && (
        <li className="event">
          <button type="button" className="signet-button" onClick={showEarlier}>
            {t.chat.earlier}
          </button>
        </li>
      )}
      {entries.map((entry) => (
        <li key={keyOf(entry)} className={classOf(entry, own)}>
          <Entry {...{ messenger, conversationId, own, entry }} />
        </li>
      ))}
      {waiting.map(({ outboxId, plaintext }) => (
        <li key={outboxId} className="bubble bubble-own bubble-waiting">
          <p>{plaintext === undefined ? t.chat.file : textOf(plaintext)}</p>
          <p className="bubble-facts">{t.chat.unsent}</p>
        </li>
      ))}
      {entries.length < all.length && <li className="event">{t.chat.hidden(all.length - entries.length)}</li>}
      <li ref={end} aria-hidden="true" />
    </ol>
  )
}

/** Warnings share the number of the entry that follows them. */
const keyOf = (entry: TimelineEntry): string =>
  [entry.seq, entry.is, "from" in entry ? entry.from.deviceId : ""].join(" ")

function classOf(entry: TimelineEntry, own: string): string {
  if (entry.is !== "message" && entry.is !== "attachment") return "event"
  return entry.from.userId === own ? "bubble bubble-own" : "bubble"
}

interface EntryProps {
  readonly messenger: Messenger
  readonly conversationId: string
  readonly own: string
  readonly entry: TimelineEntry
}

/** The sender, unless it is this user; the time; and whether the entry is from a backup. */
function Facts({ own, entry }: { own: string; entry: Extract<TimelineEntry, { from: unknown }> }): ReactNode {
  const at = time.format(new Date(entry.atMs))
  const parts = [entry.from.userId !== own && short(entry.from.userId), at, entry.imported && t.chat.imported]
  return <p className="bubble-facts">{parts.filter(Boolean).join(" · ")}</p>
}

function Entry({ messenger, conversationId, own, entry }: EntryProps): ReactNode {
  switch (entry.is) {
    case "message":
      return (
        <>
          <p>{textOf(entry.plaintext)}</p>
          <Facts own={own} entry={entry} />
        </>
      )
    case "attachment":
      return (
        <>
          <Attachment messenger={messenger} conversationId={conversationId} entry={entry} />
          <Facts own={own} entry={entry} />
        </>
      )
    case "membership":
      return t.chat.membership(names(entry.added), names(entry.removed))
    case "newKeys":
      return <span className="event-warning">{t.chat.newKeys(names(entry.devices))}</span>
    case "reset":
      return <span className="event-warning">{t.chat.reset}</span>
    case "missing":
      return <span className="event-warning">{t.chat.missing(entry.count, short(entry.from.userId))}</span>
    case "unreadable":
      return <span className="event-warning">{t.chat.unreadable(entry.reason)}</span>
    case "gap":
      return t.chat.gap
  }
}

const names = (people: readonly { readonly userId: string }[]): string =>
  [...new Set(people.map(({ userId }) => short(userId)))].join(", ")
