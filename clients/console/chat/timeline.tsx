import type { Messenger, OutboxEntry, TimelineEntry } from "@signet/client-web/messaging"
import { Failed, useAction } from "@signet/react/core"
import { type ReactNode, useEffect, useRef } from "react"
import { t } from "../text/chat.ts"
import { short } from "./short.ts"

interface TimelineProps {
  readonly messenger: Messenger
  readonly conversationId: string
  readonly own: string
  readonly entries: readonly TimelineEntry[]
  readonly waiting: readonly OutboxEntry[]
}

const time = new Intl.DateTimeFormat(undefined, { timeStyle: "short" })
const textOf = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes)

export function Timeline({ messenger, conversationId, own, entries, waiting }: TimelineProps): ReactNode {
  const end = useRef<HTMLLIElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new entry scrolls into view.
  useEffect(() => {
    void end.current?.scrollIntoView({ block: "nearest" })
  }, [entries.length, waiting.length])
  return (
    <ol className="timeline" aria-label={t.chat.messages} aria-live="polite">
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

function Entry({ messenger, conversationId, own, entry }: EntryProps): ReactNode {
  const at = time.format(new Date(entry.atMs))
  switch (entry.is) {
    case "message":
      return (
        <>
          <p>{textOf(entry.plaintext)}</p>
          <p className="bubble-facts">{entry.from.userId === own ? at : `${short(entry.from.userId)} · ${at}`}</p>
        </>
      )
    case "attachment":
      return (
        <>
          <Attachment messenger={messenger} conversationId={conversationId} entry={entry} />
          <p className="bubble-facts">{entry.from.userId === own ? at : `${short(entry.from.userId)} · ${at}`}</p>
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

interface AttachmentProps {
  readonly messenger: Messenger
  readonly conversationId: string
  readonly entry: Extract<TimelineEntry, { is: "attachment" }>
}

/** Saves a file. Its name and type are the sender's assertions, so the page never renders it. */
function Attachment({ messenger, conversationId, entry }: AttachmentProps): ReactNode {
  const save = useAction(async () => {
    const opened = await messenger.openAttachment(conversationId, entry.seq)
    const blob = await new Response(opened.stream()).blob()
    const url = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }))
    const link = document.createElement("a")
    link.href = url
    link.download = entry.fileName || "attachment"
    link.click()
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  })
  return (
    <>
      <button type="button" className="file" disabled={save.isPending} onClick={() => save.run()}>
        <span className="strong">{entry.fileName || t.chat.file}</span>
        <span className="signet-id">{t.chat.bytes(entry.size)}</span>
      </button>
      <Failed error={save.error} />
    </>
  )
}
