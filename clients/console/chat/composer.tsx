import { type ConversationInfo, isMessagingError, type Messenger } from "@signet/client-web/messaging"
import { type ReactNode, useState } from "react"
import { t } from "../text/chat.ts"
import { Problem } from "./problem.tsx"
import { useUploads } from "./uploads.tsx"

interface ComposerProps {
  readonly messenger: Messenger
  readonly info: ConversationInfo
  readonly isOnline: boolean
  /** A member's keys differ from the compared ones. */
  readonly hasChangedKeys: boolean
  readonly onCompare: () => void
  readonly onSent: () => void
}

/** A message is stored within this time, and shown as one that waits. */
const storedMs = 300

/** Writes a text or sends a file. A text that cannot be sent now is stored, and sent later. */
export function Composer(props: ComposerProps): ReactNode {
  const { messenger, info, isOnline, hasChangedKeys, onCompare, onSent } = props
  const [text, setText] = useState("")
  const [failure, setFailure] = useState<unknown>()
  const isBlocked = info.isDirect && info.blockedUserIds.length > 0
  const uploads = useUploads({ messenger, conversationId: info.id, isDisabled: isBlocked, onSent })
  // The next message may be written while this one is on its way: the messenger sends in order.
  const send = async (written: string) => {
    setText("")
    setFailure(undefined)
    const timer = setTimeout(onSent, storedMs)
    try {
      await messenger.send(info.id, new TextEncoder().encode(written))
    } catch (error) {
      // Stored: the messenger sends it as soon as it can. Sending again would send it twice.
      if (isMessagingError(error, "QUEUED", "CONFLICT_EXHAUSTED")) return
      setText((since) => since || written)
      setFailure(error)
    } finally {
      clearTimeout(timer)
      onSent()
    }
  }
  return (
    <>
      {!isOnline && (
        <p className="notice" role="status">
          {t.chat.offline}
        </p>
      )}
      {isBlocked && <p className="notice">{t.chat.blockedComposer}</p>}
      {hasChangedKeys && (
        <div className="signet-failed chat-warning" role="alert">
          <p>{t.chat.keysChanged}</p>
          <button type="button" className="signet-button" onClick={onCompare}>
            {t.chat.compareNow}
          </button>
        </div>
      )}
      <Problem error={failure} />
      {uploads.state}
      <form
        className="composer"
        onSubmit={(event) => {
          event.preventDefault()
          if (text.trim() !== "") void send(text)
        }}
      >
        <input
          aria-label={t.chat.message}
          placeholder={t.chat.message}
          value={text}
          onChange={(event) => setText(event.target.value)}
          disabled={isBlocked}
          autoComplete="off"
        />
        {uploads.button}
        <button type="submit" className="signet-button signet-primary" disabled={isBlocked}>
          {hasChangedKeys ? t.chat.sendAnyway : t.chat.send}
        </button>
      </form>
    </>
  )
}
