// The parts that the components are built of. Class names begin with `signet-`; theme.css styles them.
import { type ReactNode, useId, useLayoutEffect, useRef, useState } from "react"
import { explainFailure } from "./failures.ts"
import { useText } from "./provider.tsx"

/** Says what failed and what to do next, by the typed reason. */
export function Failed({ error, retry }: { error: unknown; retry?: () => void }): ReactNode {
  const text = useText()
  if (error === undefined || error === null) return null
  const { what, next, reason, fields, facts, retryAfterMs } = explainFailure(error, text.failures)
  return (
    <div className="signet-failed" role="alert">
      <p className="signet-failed-what">{what}</p>
      <p>{retryAfterMs === undefined ? next : text.retryIn(Math.ceil(retryAfterMs / 1_000))}</p>
      {fields.map(({ field, rule }) => (
        <p key={field + rule}>
          <code>{field}</code>: {rule}
        </p>
      ))}
      <p className="signet-failed-reason">{[reason, ...facts].join(" · ")}</p>
      {retry && (
        <button type="button" className="signet-button" onClick={retry}>
          {text.retry}
        </button>
      )}
    </div>
  )
}

export function Loading(): ReactNode {
  const text = useText()
  return (
    <p className="signet-loading" role="status">
      {text.loading}
    </p>
  )
}

export interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
}

/** A modal dialog: focus stays inside, Escape closes it, and focus returns to the button that opened it. */
export function Dialog({ title, onClose, children }: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    // Before the element leaves the document: a browser restores the focus of a dialog that is closed, not removed.
    return () => shown?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      className="signet-dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        // A file input inside fires `cancel`, too.
        if (event.target === dialog.current) onClose()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

export interface ConfirmProps {
  readonly title: string
  /** What the action ends, with its count. */
  readonly about: ReactNode
  readonly action: string
  /** The person types this word first, for actions that cannot be undone. */
  readonly word?: string
  readonly error?: unknown
  readonly isPending: boolean
  readonly onConfirm: () => void
  readonly onClose: () => void
}

/** Asks before a destructive action. */
export function Confirm(props: ConfirmProps): ReactNode {
  const { title, about, action, word, error, isPending, onConfirm, onClose } = props
  const text = useText()
  const [typed, setTyped] = useState("")
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onConfirm()
        }}
      >
        <div className="signet-about">{about}</div>
        {word !== undefined && (
          <label className="signet-field">
            {text.confirm.typeToConfirm(word)}
            <input value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" />
          </label>
        )}
        <Failed error={error} />
        <div className="signet-actions">
          <button type="button" className="signet-button" onClick={onClose}>
            {text.cancel}
          </button>
          <button
            type="submit"
            className="signet-button signet-danger"
            disabled={isPending || (word !== undefined && typed !== word)}
          >
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** A secret that is shown once. It is in the page only while this part is. */
export function ShownOnce({ label, secret }: { label: string; secret: string }): ReactNode {
  const text = useText()
  const [isCopied, setCopied] = useState(false)
  return (
    <div className="signet-once">
      <p className="signet-once-warning">{text.shownOnce}</p>
      <p className="signet-once-label">{label}</p>
      <div className="signet-once-value">
        <output aria-label={label}>{secret}</output>
        <button
          type="button"
          className="signet-button"
          onClick={() => navigator.clipboard.writeText(secret).then(() => setCopied(true))}
        >
          {isCopied ? text.copied : text.copy}
        </button>
      </div>
    </div>
  )
}

interface Instant {
  readonly seconds: bigint
  readonly nanos: number
}

const formats = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" })

export const dateOf = (at: Instant): Date => new Date(Number(at.seconds) * 1_000 + Math.floor(at.nanos / 1e6))

/** A time in the reader's own zone. */
export function Time({ at, none = "–" }: { at: Instant | undefined; none?: string }): ReactNode {
  if (at === undefined) return <span className="signet-muted">{none}</span>
  const date = dateOf(at)
  return <time dateTime={date.toISOString()}>{formats.format(date)}</time>
}

/** A state as a word with a color. The word alone says it. */
export function Status({ name }: { name: string }): ReactNode {
  return <span className={`signet-status signet-status-${name.toLowerCase()}`}>{sentence(name)}</span>
}

/** The name of an enum's value; the number of a value that a later service has added. */
export function enumName(of: Readonly<Record<string, number | string>>, value: number): string {
  return Object.entries(of).find(([, one]) => one === value)?.[0] ?? String(value)
}

/** `DELETION_PENDING` as `Deletion pending`. */
const sentence = (name: string): string => {
  const words = name.replaceAll("_", " ").toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}
