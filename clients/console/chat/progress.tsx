import type { ReactNode } from "react"
import { t } from "../text/chat.ts"

export interface Transferred {
  readonly done: number
  readonly total: number
}

interface ProgressProps {
  readonly label: string
  readonly of: Transferred
  readonly onStop: () => void
}

/** How far a transfer is, with a button that stops it. */
export function Progress({ label, of: { done, total }, onStop }: ProgressProps): ReactNode {
  return (
    <p className="chat-progress">
      <progress value={done} max={total} aria-label={label} />
      <span className="signet-id">{t.chat.bytesOf(t.chat.bytes(done), t.chat.bytes(total))}</span>
      <button type="button" className="signet-button" onClick={onStop}>
        {t.cancel}
      </button>
    </p>
  )
}
