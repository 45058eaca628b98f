import type { Messenger, TimelineEntry } from "@signet/client-web/messaging"
import { useAction } from "@signet/react/core"
import { type ReactNode, useRef, useState } from "react"
import { t } from "../text/chat.ts"
import { Problem } from "./problem.tsx"
import { Progress, type Transferred } from "./progress.tsx"

interface AttachmentProps {
  readonly messenger: Messenger
  readonly conversationId: string
  readonly entry: Extract<TimelineEntry, { is: "attachment" }>
}

/** Saves a file. Its name and type are the sender's assertions, so the page never renders it. */
export function Attachment({ messenger, conversationId, entry }: AttachmentProps): ReactNode {
  const [progress, setProgress] = useState<Transferred>()
  const stopping = useRef<AbortController>(undefined)
  const save = useAction(async () => {
    const ending = new AbortController()
    stopping.current = ending
    try {
      const opened = await messenger.openAttachment(conversationId, entry.seq)
      const { signal } = ending
      const stream = opened.stream({ signal, onProgress: (done, total) => setProgress({ done, total }) })
      // A Response would reject its own type for a stream of views on shared memory.
      const bytes = await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer()
      saveAs(new Blob([bytes], { type: "application/octet-stream" }), entry.fileName || "attachment")
    } catch (error) {
      if (!ending.signal.aborted) throw error
    } finally {
      setProgress(undefined)
    }
  })
  return (
    <>
      <button type="button" className="file" disabled={save.isPending} onClick={() => save.run()}>
        <span className="strong">{entry.fileName || t.chat.file}</span>{" "}
        <span className="signet-id">{t.chat.bytes(entry.size)}</span>
      </button>
      {progress && <Progress label={t.chat.downloading} of={progress} onStop={() => stopping.current?.abort()} />}
      <Problem error={save.error} />
    </>
  )
}

/** Lets the person save bytes as a file. */
export function saveAs(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
