import { isMessagingError, type Messenger, type UploadInfo } from "@signet/client-web/messaging"
import { useAction } from "@signet/react/core"
import { type ReactNode, useEffect, useRef, useState } from "react"
import { t } from "../text/chat.ts"
import { Problem } from "./problem.tsx"
import { Progress, type Transferred } from "./progress.tsx"

interface UploadsProps {
  readonly messenger: Messenger
  readonly conversationId: string
  readonly isDisabled: boolean
  readonly onSent: () => void
}

/** A button that sends a file, and the uploads that were interrupted. */
export function useUploads(props: UploadsProps): { readonly button: ReactNode; readonly state: ReactNode } {
  const { messenger, conversationId, isDisabled, onSent } = props
  const [progress, setProgress] = useState<Transferred>()
  const [interrupted, setInterrupted] = useState<readonly UploadInfo[]>([])
  const [resumed, setResumed] = useState<UploadInfo>()
  const stopping = useRef<AbortController>(undefined)
  const file = useRef<HTMLInputElement>(null)
  const reload = () => messenger.uploads(conversationId).then(setInterrupted, () => {})
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each conversation, and after each upload.
  useEffect(() => void reload(), [messenger, conversationId])
  const attach = useAction(async (chosen: File) => {
    const ending = new AbortController()
    stopping.current = ending
    try {
      await messenger.sendAttachment(conversationId, chosen, {
        fileName: chosen.name,
        ...(chosen.type !== "" && { mediaType: chosen.type }),
        ...(resumed && { resume: resumed.id }),
        signal: ending.signal,
        onProgress: (done, total) => setProgress({ done, total }),
      })
    } catch (error) {
      // Stopped by the person, or stored with its message: the list of uploads, or the timeline, shows it.
      if (!ending.signal.aborted && !isMessagingError(error, "QUEUED", "CONFLICT_EXHAUSTED")) throw error
    } finally {
      setProgress(undefined)
      setResumed(undefined)
      await reload()
      onSent()
    }
  })
  const discard = useAction(async ({ id }: UploadInfo) => {
    await messenger.cancelUpload(conversationId, id)
    await reload()
  })
  const choose = (upload: UploadInfo | undefined) => {
    setResumed(upload)
    file.current?.click()
  }
  const state = (
    <>
      <Problem error={attach.error ?? discard.error} />
      {progress && <Progress label={t.chat.uploading} of={progress} onStop={() => stopping.current?.abort()} />}
      {!attach.isPending &&
        interrupted.map((upload) => (
          <div key={upload.id} className="notice chat-interrupted">
            <p>{t.chat.interrupted(upload.fileName || t.chat.file)}</p>
            <div className="chat-actions">
              <button type="button" className="signet-button" onClick={() => choose(upload)}>
                {t.chat.resume}
              </button>
              <button type="button" className="signet-button" onClick={() => discard.run(upload)}>
                {t.chat.discard}
              </button>
            </div>
          </div>
        ))}
    </>
  )
  const button = (
    <>
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
        disabled={isDisabled || attach.isPending}
        onClick={() => choose(undefined)}
      >
        {t.chat.attach}
      </button>
    </>
  )
  return { button, state }
}
