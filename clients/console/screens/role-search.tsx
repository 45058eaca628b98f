import { type ReactNode, useEffect, useState } from "react"
import { t } from "../text/screens.ts"

/** Time without a keystroke after which the list is read again, in milliseconds. */
const settleMs = 200

/** The prefix that a typed text names; undefined if no key of a role can begin with it. */
export function keyPrefixOf(typed: string): string | undefined {
  const text = typed.trim().toLowerCase()
  return /^([a-z][a-z0-9_.-]{0,63})?$/.test(text) ? text : undefined
}

/** A field that finds roles by the beginning of their key. */
export function RoleSearch({ onSearch }: { onSearch: (typed: string) => void }): ReactNode {
  const [typed, setTyped] = useState("")
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another text begins the wait again.
  useEffect(() => {
    const waiting = setTimeout(() => onSearch(typed), settleMs)
    return () => clearTimeout(waiting)
  }, [typed])
  return (
    <label className="signet-field">
      {t.role.find}
      <input
        value={typed}
        placeholder={t.role.findHint}
        onChange={(event) => setTyped(event.target.value)}
        // The field can be part of a form, which it does not send.
        onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
        autoComplete="off"
        spellCheck={false}
      />
    </label>
  )
}
