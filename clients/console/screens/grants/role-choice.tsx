import { type ReactNode, useRef, useState } from "react"
import { Choice } from "../../page.tsx"
import { t } from "../../text/screens.ts"
import { RoleSearch } from "../role-search.tsx"
import { useRoleNames } from "./role-names.ts"

interface RoleChoiceProps {
  readonly appId: string
  readonly value: string
  /** The name of no role. */
  readonly none: string
  readonly onChange: (roleId: string) => void
}

const more = "more"

/** A choice among the roles that a search finds. Its last entry reads more. */
export function RoleChoice({ appId, value, none, onChange }: RoleChoiceProps): ReactNode {
  const [typed, setTyped] = useState("")
  const roles = useRoleNames(appId, typed)
  const isFound = value === "" || roles.names.has(value)
  // The chosen role keeps its key while the search finds others.
  const seen = useRef(new Map<string, string>())
  for (const [id, key] of roles.names) seen.current.set(id, key)
  return (
    <>
      <RoleSearch onSearch={setTyped} />
      <Choice
        label={t.grant.role}
        value={value}
        onChange={(chosen) => (chosen === more ? roles.more() : onChange(chosen))}
        of={[
          ["", none],
          ...(isFound ? [] : [[value, seen.current.get(value) ?? value] as const]),
          ...roles.names,
          ...(roles.hasMore ? [[more, t.more] as const] : []),
        ]}
      />
    </>
  )
}
