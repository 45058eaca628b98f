// The parts that screens share: a page with its heading, tables, facts, fields.
import { type ReactNode, useEffect, useRef } from "react"
import { Link } from "./router.tsx"
import { t } from "./text/frame.ts"

export { type Column, List, type ListProps } from "@signet/react/core"

interface PageProps {
  readonly title: string
  readonly about?: ReactNode
  /** Where the page is below: a path and its name. */
  readonly under?: { readonly to: string; readonly name: string }
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/**
 * A screen. Its heading gets the focus, so that a screen reader announces the new page, unless a person has begun to type
 * in a field.
 */
export function Page({ title, about, under, actions, children }: PageProps): ReactNode {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · ${t.product}`
    if (!(document.activeElement instanceof HTMLInputElement)) heading.current?.focus({ preventScroll: true })
  }, [title])
  return (
    <>
      <header className="page-head">
        <div>
          {under && (
            <p className="page-under">
              <Link to={under.to}>{under.name}</Link>
            </p>
          )}
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {about && <p className="page-about">{about}</p>}
        </div>
        {actions && <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}

/** Names and values of one object. */
export function Facts({ of }: { of: readonly (readonly [string, ReactNode])[] }): ReactNode {
  return (
    <dl className="facts">
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value === "" || value === undefined ? <span className="signet-muted">–</span> : value}</dd>
        </div>
      ))}
    </dl>
  )
}

export function Card({
  title,
  actions,
  children,
}: {
  title: string
  actions?: ReactNode
  children: ReactNode
}): ReactNode {
  return (
    <section className="card">
      <div className="card-head">
        <h2>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  )
}

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly type?: "text" | "number" | "datetime-local" | "email" | "search"
  readonly hint?: string
  readonly isRequired?: boolean
  readonly rows?: number
  readonly placeholder?: string
}

export function Field(props: FieldProps): ReactNode {
  const { label, value, onChange, type = "text", hint, isRequired, rows, placeholder } = props
  const common = { value, required: isRequired, placeholder, spellCheck: false, autoComplete: "off" }
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is one of the two below.
    <label className="signet-field">
      {label}
      {hint !== undefined && <span className="hint">{hint}</span>}
      {rows === undefined ? (
        <input {...common} type={type} onChange={(event) => onChange(event.target.value)} />
      ) : (
        <textarea {...common} rows={rows} onChange={(event) => onChange(event.target.value)} />
      )}
    </label>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly of: readonly (readonly [value: string, name: string])[]
}

export function Choice({ label, value, onChange, of }: ChoiceProps): ReactNode {
  return (
    <label className="signet-field">
      {label}
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {of.map(([one, name]) => (
          <option key={one} value={one}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

/** An id, in full: people paste it elsewhere. */
export const Id = ({ of }: { of: string }): ReactNode => <code className="id">{of}</code>

export const words = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)
