import { type ReactNode, useEffect, useRef, useState } from "react"
import { Field } from "../../page.tsx"
import { t } from "../../text/chat.ts"
import { openQrReader } from "./qr-pictures.ts"

interface ReaderProps {
  /** The name of the code, for the field that takes it as text. */
  readonly label: string
  readonly action: string
  readonly isPending: boolean
  readonly onRead: (text: string) => void
}

/** Reads a code: by the camera, from a picture, or as text. */
export function QrReader({ label, action, isPending, onRead }: ReaderProps): ReactNode {
  const [text, setText] = useState("")
  const [fault, setFault] = useState<string>()
  const [isFilming, setFilming] = useState(false)
  const file = useRef<HTMLInputElement>(null)
  const found = (code: string) => {
    setFault(undefined)
    setFilming(false)
    onRead(code)
  }
  const readPicture = async (chosen: File) => {
    const code = await codeIn(chosen).catch(() => undefined)
    if (code === undefined) setFault(t.keys.noCode)
    else found(code)
  }
  return (
    <div className="reader">
      <div className="chat-actions">
        <button
          type="button"
          className="signet-button"
          onClick={() => {
            setFault(undefined)
            setFilming(!isFilming)
          }}
        >
          {isFilming ? t.keys.stopCamera : t.keys.camera}
        </button>
        <button type="button" className="signet-button" onClick={() => file.current?.click()}>
          {t.keys.picture}
        </button>
        <input
          ref={file}
          type="file"
          accept="image/*"
          className="visually-hidden"
          aria-label={t.keys.pictureFile}
          tabIndex={-1}
          onChange={(event) => {
            const chosen = event.target.files?.[0]
            event.target.value = ""
            if (chosen) void readPicture(chosen)
          }}
        />
      </div>
      {isFilming && (
        <Camera
          onRead={found}
          onRefused={(why) => {
            setFilming(false)
            setFault(why)
          }}
        />
      )}
      {fault && (
        <p className="signet-failed" role="alert">
          {fault}
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (text.trim() !== "") found(text.trim())
        }}
      >
        <Field label={label} rows={2} value={text} onChange={setText} />
        <button type="submit" className="signet-button" disabled={text.trim() === "" || isPending}>
          {action}
        </button>
      </form>
    </div>
  )
}

async function codeIn(file: File): Promise<string | undefined> {
  const picture = await createImageBitmap(file)
  try {
    return await (await openQrReader())(picture)
  } finally {
    picture.close()
  }
}

interface CameraProps {
  readonly onRead: (text: string) => void
  readonly onRefused: (why: string) => void
}

/** Between two looks at the camera's picture. */
const lookMs = 200

/** The camera's picture, until it shows a code. The stream ends with this part. */
function Camera({ onRead, onRefused }: CameraProps): ReactNode {
  const video = useRef<HTMLVideoElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: one stream for as long as the part is shown.
  useEffect(() => {
    let isShown = true
    let stream: MediaStream | undefined
    const film = async () => {
      const [read, opened] = await Promise.all([
        openQrReader(),
        navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" }, audio: false }),
      ])
      stream = opened
      const screen = video.current
      if (!isShown || screen === null) return stop()
      screen.srcObject = opened
      await screen.play()
      while (isShown) {
        const picture = await createImageBitmap(screen)
        const code = await read(picture).finally(() => picture.close())
        if (code !== undefined && isShown) return onRead(code)
        await new Promise((resolve) => setTimeout(resolve, lookMs))
      }
    }
    const stop = () => {
      for (const track of stream?.getTracks() ?? []) track.stop()
    }
    film().catch((error: unknown) => {
      const isMissing = error instanceof DOMException && error.name === "NotFoundError"
      if (isShown) onRefused(isMissing ? t.keys.cameraMissing : t.keys.cameraRefused)
    })
    return () => {
      isShown = false
      stop()
    }
  }, [])
  return <video ref={video} className="camera" muted playsInline aria-label={t.keys.cameraPicture} />
}
