import type { ReactNode } from "react"
import { Choice } from "../../page.tsx"
import { t } from "../../text/screens.ts"
import type { RoleNames } from "./role-names.ts"

interface RoleChoiceProps {
  readonly roles: RoleNames
  readonly value: string
  /** The name of no role. */
  readonly none: string
  readonly onChange: (roleId: string) => void
}

const more = "more"

/** A choice among the roles that were read. Its last entry reads more. */
export function RoleChoice({ roles, value, none, onChange }: RoleChoiceProps): ReactNode {
  const isRead = value === "" || roles.names.has(value)
  return (
    <Choice
      label={t.grant.role}
      value={value}
      onChange={(chosen) => (chosen === more ? roles.more() : onChange(chosen))}
      of={[
        ["", none],
        ...(isRead ? [] : [[value, value] as const]),
        ...roles.names,
        ...(roles.hasMore ? [[more, t.more] as const] : []),
      ]}
    />
  )
}
