import { type ReactNode, useEffect, useState } from "react"
import { Field } from "../page.tsx"
import { t } from "../text/screens.ts"

/** Time without a keystroke after which the list is read again, in milliseconds. */
const settleMs = 200

/** The prefix that a typed text names; undefined if no key of a role can begin with it. */
export function keyPrefixOf(typed: string): string | undefined {
  const text = typed.trim().toLowerCase()
  return /^([a-z][a-z0-9_.-]{0,63})?$/.test(text) ? text : undefined
}

/** Returns the text after a pause in typing; an empty text at once. */
export function useSettled(typed: string): string {
  const [settled, setSettled] = useState(typed)
  useEffect(() => {
    const waiting = setTimeout(() => setSettled(typed), settleMs)
    return () => clearTimeout(waiting)
  }, [typed])
  return typed === "" ? "" : settled
}

interface RoleSearchProps {
  readonly typed: string
  readonly onType: (typed: string) => void
}

/** A field that narrows a list to the roles whose key begins with a text. */
export const RoleSearch = ({ typed, onType }: RoleSearchProps): ReactNode => (
  <Field label={t.role.find} value={typed} onChange={onType} placeholder={t.role.findHint} />
)
