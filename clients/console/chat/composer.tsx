import { isMessagingError, type Messenger } from "@signet/client-web/messaging"
import { Failed, useAction } from "@signet/react/core"
import { type ReactNode, useRef, useState } from "react"
import { t } from "../text/chat.ts"

interface ComposerProps {
  readonly messenger: Messenger
  readonly conversationId: string
  readonly onSent: () => void
}

/** Writes a text or sends a file. A text that cannot be sent now is stored, and sent later. */
export function Composer({ messenger, conversationId, onSent }: ComposerProps): ReactNode {
  const [text, setText] = useState("")
  const [progress, setProgress] = useState<{ done: number; total: number }>()
  const stopping = useRef<AbortController>(undefined)
  const file = useRef<HTMLInputElement>(null)
  const send = useAction(async () => {
    const written = text
    setText("")
    try {
      await messenger.send(conversationId, new TextEncoder().encode(written))
    } catch (error) {
      // Stored: the messenger sends it as soon as it can. Sending again would send it twice.
      if (!isMessagingError(error, "QUEUED", "CONFLICT_EXHAUSTED")) {
        setText(written)
        throw error
      }
    } finally {
      onSent()
    }
  })
  const attach = useAction(async (chosen: File) => {
    const ending = new AbortController()
    stopping.current = ending
    try {
      await messenger.sendAttachment(conversationId, chosen, {
        fileName: chosen.name,
        ...(chosen.type !== "" && { mediaType: chosen.type }),
        signal: ending.signal,
        onProgress: (done, total) => setProgress({ done, total }),
      })
    } finally {
      setProgress(undefined)
      onSent()
    }
  })
  return (
    <>
      <Failed error={send.error ?? attach.error} />
      {progress && (
        <p className="chat-progress">
          <progress value={progress.done} max={progress.total} aria-label={t.chat.uploading} />
          <button type="button" className="signet-button" onClick={() => stopping.current?.abort()}>
            {t.cancel}
          </button>
        </p>
      )}
      <form
        className="composer"
        onSubmit={(event) => {
          event.preventDefault()
          if (text.trim() !== "") send.run()
        }}
      >
        <input
          aria-label={t.chat.message}
          placeholder={t.chat.message}
          value={text}
          onChange={(event) => setText(event.target.value)}
          autoComplete="off"
        />
        <input
          ref={file}
          type="file"
          className="visually-hidden"
          aria-label={t.chat.chooseFile}
          tabIndex={-1}
          onChange={(event) => {
            const chosen = event.target.files?.[0]
            event.target.value = ""
            if (chosen) attach.run(chosen)
          }}
        />
        <button
          type="button"
          className="signet-button"
          disabled={attach.isPending}
          onClick={() => file.current?.click()}
        >
          {t.chat.attach}
        </button>
        <button type="submit" className="signet-button signet-primary" disabled={send.isPending}>
          {t.chat.send}
        </button>
      </form>
    </>
  )
}
